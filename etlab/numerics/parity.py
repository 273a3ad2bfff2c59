"""Run every path on the same samples and compare what comes out."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

import torch
from torch.utils import _pytree

from etlab.errors import (
    EtlabError,
    InterruptedExecutionError,
    InvalidArgumentError,
    NotSupportedError,
)
from etlab.exir.specs import channels_last_order
from etlab.numerics.data import describe, warnings_about
from etlab.numerics.metrics import Metric, metric, standard_metrics
from etlab.numerics.report import ParityReport, ParityRow


class PathAbsentError(NotSupportedError):
    """This environment has no such path; the message says how to get it."""


class PathNotApplicableError(NotSupportedError):
    """The path can never run this program; the message says what it lacks."""


class OpenPath(Protocol):
    """A path that is ready to compute."""

    def __call__(self, sample: tuple[Any, ...]) -> list[Any]:
        """The flat outputs for one sample's arguments."""


# Opening may fail; the reason becomes the row. Leaving frees what was opened.
Path = Callable[[], AbstractContextManager[OpenPath]]


def as_samples(inputs: Any) -> list[tuple[Any, ...]]:
    """Samples from what a user gives: a tensor, one tuple of arguments, or a list of tuples.

    Raises:
        InvalidArgumentError: an empty list.
    """
    if isinstance(inputs, list) and inputs and all(isinstance(one, tuple) for one in inputs):
        return list(inputs)
    if isinstance(inputs, list) and not inputs:
        raise InvalidArgumentError("inputs: an empty list holds no sample; give at least one tuple")
    return [inputs if isinstance(inputs, tuple) else (inputs,)]


def compare(
    paths: Mapping[str, Path],
    samples: Sequence[tuple[Any, ...]],
    *,
    model: str,
    reference: str = "eager",
    output_names: Sequence[str] | None = None,
    metrics: Sequence[str] | None = None,
    noise_floor: bool = False,
) -> ParityReport:
    """Compare `paths` with the one called `reference` on `samples`.

    Args:
        paths: by name, in the order of the rows; the reference among them.
        samples: arguments of each sample.
        model: a name for the report.
        reference: the judge.
        output_names: names of the flat outputs.
        metrics: names of the metrics, the standard ones by default.
        noise_floor: run the reference a second time to see what it is from itself.

    Returns:
        The report. A path that cannot be opened, cannot serve this program or fails is a row that
        says why.

    Raises:
        InvalidArgumentError: the reference is not among the paths.
        EtlabError: the reference itself fails.
    """
    if reference not in paths:
        raise InvalidArgumentError(
            f"parity: the reference '{reference}' is not among the paths {', '.join(paths)}"
        )
    chosen = [metric(name) for name in (standard_metrics() if metrics is None else metrics)]
    expected = _run(paths[reference], samples)
    again = _run(paths[reference], samples) if noise_floor else None
    names = list(output_names or ())
    names += [f"output {i}" for i in range(len(names), len(expected[0]))]
    rows: list[ParityRow] = []
    layouts: list[str] = []
    for path, opener in paths.items():
        if path == reference:
            rows += [ParityRow(path, name) for name in names[: len(expected[0])]]
            continue
        try:
            actual = _run(opener, samples)
        except InterruptedExecutionError:
            raise
        except PathAbsentError as error:
            rows.append(ParityRow(path, "", "absent", _one_line(error)))
            continue
        except PathNotApplicableError as error:
            rows.append(ParityRow(path, "", "not applicable", _one_line(error)))
            continue
        except Exception as error:
            rows.append(ParityRow(path, "", "failed", _one_line(error)))
            continue
        rows += _rows(path, names, actual, expected, [one.name for one in chosen])
        layouts += _layout_notes(path, names, actual[0], expected[0])
    return ParityReport(
        model=model,
        reference=reference,
        metrics=tuple(one.name for one in chosen),
        rows=tuple(rows),
        data=describe(samples),
        samples=len(samples),
        warnings=(*warnings_about(samples), *layouts),
        noise_floor={} if again is None else _noise(again, expected, chosen),
    )


def _noise(
    again: list[list[Any]], expected: list[list[Any]], metrics: Sequence[Metric]
) -> dict[str, float | None]:
    """What a path is from itself, over all outputs together, without metrics that do not fit."""
    pairs = [
        (left, right)
        for one, other in zip(again, expected, strict=True)
        for left, right in zip(one, other, strict=True)
        if isinstance(left, torch.Tensor) and left.shape == right.shape
    ]
    if not pairs:
        return {}
    lefts, rights = zip(*pairs, strict=True)
    found = {one.name: one.compute(lefts, rights) for one in metrics}
    return {name: value for name, value in found.items() if value is not None}


def _one_line(error: Exception) -> str:
    text = " ".join(str(error).split()) or type(error).__name__
    kind = "" if isinstance(error, EtlabError) else f"{type(error).__name__}: "
    return kind + (text if len(text) <= 400 else text[:397] + "…")


def _run(opener: Path, samples: Sequence[tuple[Any, ...]]) -> list[list[Any]]:
    """Outputs of every sample.

    Inputs and outputs are copies, so that no path sees another's memory: a model may update its
    inputs in place.
    """
    with opener() as path:
        return [
            [
                value.detach().clone() if isinstance(value, torch.Tensor) else value
                for value in path(_copied(one))
            ]
            for one in samples
        ]


def _copied(sample: tuple[Any, ...]) -> tuple[Any, ...]:
    copies: dict[int, torch.Tensor] = {}  # a tensor that is given twice stays one

    def copy(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor):
            return leaf
        if id(leaf) not in copies:
            copies[id(leaf)] = leaf.detach().clone()
        return copies[id(leaf)]

    copied: tuple[Any, ...] = _pytree.tree_map(copy, sample)
    return copied


def _rows(
    path: str,
    names: Sequence[str],
    actual: list[list[Any]],
    expected: list[list[Any]],
    metrics: Sequence[str],
) -> list[ParityRow]:
    for sample, (left, right) in enumerate(zip(actual, expected, strict=True)):
        if len(left) != len(right):
            reason = f"sample {sample}: {len(left)} outputs, the reference has {len(right)}"
            return [ParityRow(path, "", "failed", reason)]
    rows = []
    for place in range(len(expected[0])):
        lefts = [_tensor(one[place]) for one in actual]
        rights = [_tensor(one[place]) for one in expected]
        rows.append(_row(path, names[place], lefts, rights, metrics))
    return rows


def _layout_notes(
    path: str, names: Sequence[str], actual: list[Any], expected: list[Any]
) -> list[str]:
    """Outputs whose channels lie innermost in the reference only: who reads memory must know."""
    if path.startswith("device:"):  # its outputs come as files, written row by row
        return []
    return [
        f"{path}: output '{name}' lies in memory with strides {tuple(left.stride())}, channels-last"
        f" strides {tuple(right.stride())} in the reference; values are compared by index"
        for name, left, right in zip(names, actual, expected, strict=False)
        if isinstance(left, torch.Tensor)
        and isinstance(right, torch.Tensor)
        and left.shape == right.shape
        and (order := channels_last_order(right)) is not None
        and channels_last_order(left) != order
    ]


def _tensor(value: Any) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value
    return None if value is None else torch.as_tensor(value)


def _row(
    path: str,
    name: str,
    actual: Sequence[torch.Tensor | None],
    expected: Sequence[torch.Tensor | None],
    metrics: Sequence[str],
) -> ParityRow:
    lefts: list[torch.Tensor] = []
    rights: list[torch.Tensor] = []
    for sample, (left, right) in enumerate(zip(actual, expected, strict=True)):
        if left is None and right is None:
            continue
        if left is None or right is None:
            side = "this path" if left is None else "the reference"
            return ParityRow(path, name, "failed", f"sample {sample}: None on {side} only")
        for what in ("shape", "dtype"):
            here, there = getattr(left, what), getattr(right, what)
            if here != there:
                here, there = (tuple(x) if what == "shape" else x for x in (here, there))
                reason = f"sample {sample}: {what} {here}, the reference has {there}"
                return ParityRow(path, name, "failed", reason)
        lefts.append(left)
        rights.append(right)
    values = {one: metric(one).compute(lefts, rights) for one in metrics}
    worst = None
    if len(lefts) > 1 and metrics:
        first = metric(metrics[0])
        each = [first.compute([a], [b]) for a, b in zip(lefts, rights, strict=True)]
        worst = first.worst(each)
    return ParityRow(path, name, "ok", "", values, worst)
