"""One configuration measured: exported, lowered, run; what fails is a result with its reason."""

import functools
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from etlab.errors import EtlabError, InterruptedExecutionError
from etlab.run import ExportRun
from etlab.sweeping.objectives import Objective

_LONGEST_REASON = 1000


@dataclass(frozen=True, slots=True)
class Configuration:
    """One point of the grid.

    Attributes:
        key: digest of all that its results depend on.
        partitioner: as text.
        quantizer: as text.
        choices: partitioner and quantizer as `etlab.export` takes them.
    """

    key: str
    partitioner: str
    quantizer: str
    choices: tuple[Any, Any]


@dataclass(frozen=True, slots=True)
class Work:
    """What every worker needs.

    Attributes:
        model: a module, or a function that makes one.
        example_inputs: positional arguments of one call.
        calibration: samples for quantizers; None for the example.
        evaluation: samples to judge on.
        dynamic_shapes: as `torch.export` takes them.
        objectives: what to measure.
        configurations: the grid.
    """

    model: Any
    example_inputs: tuple[Any, ...]
    calibration: list[tuple[Any, ...]] | None
    evaluation: list[tuple[Any, ...]]
    dynamic_shapes: Any
    objectives: tuple[Objective, ...]
    configurations: tuple[Configuration, ...]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of one configuration.

    Attributes:
        index: of the configuration in the work.
        values: objective to value; empty when it failed.
        reason: why it failed; empty when it did not.
        seconds: that it took.
    """

    index: int
    values: dict[str, float | None]
    reason: str
    seconds: float


def measure(work: Work, index: int, before_timing: Callable[[], None] = lambda: None) -> Outcome:
    """Measure one configuration.

    Args:
        work: the sweep's.
        index: of the configuration.
        before_timing: called before time is measured; returns when nothing else computes.

    Raises:
        InterruptedExecutionError: a stage listener asked for a stop.
    """
    begin = time.perf_counter()
    values: dict[str, float | None] = {}
    reason = ""
    try:
        values = _values(work, index, before_timing)
    except InterruptedExecutionError:
        raise
    except Exception as error:
        reason = describe(error)
    return Outcome(index, values, reason, time.perf_counter() - begin)


def _values(work: Work, index: int, before_timing: Callable[[], None]) -> dict[str, float | None]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the sweep says once what it doubts of the data
        run = export_configuration(work, index)
        found: dict[str, float | None] = {}
        for is_timed in (False, True):
            chosen = [one for one in work.objectives if one.is_timed == is_timed]
            if is_timed and chosen:
                before_timing()
            found.update((one.name, _number(one.measure(run, work.evaluation))) for one in chosen)
    return {one.name: found[one.name] for one in work.objectives}


def export_configuration(work: Work, index: int) -> ExportRun:
    """The run of one configuration."""
    from etlab.exporting import export

    partitioner, quantizer = work.configurations[index].choices
    return export(
        made(work.model),
        work.example_inputs,
        partitioner=partitioner,
        quantizer=quantizer,
        calibration=work.calibration,
        dynamic_shapes=work.dynamic_shapes,
    )


def made(model: Any) -> Any:
    """The module itself, or what the function makes."""
    is_factory = callable(model) and not isinstance(model, torch.nn.Module | type)
    return model() if is_factory else model


def measure_packed(
    data: bytes, index: int, before_timing: Callable[[], None] = lambda: None
) -> Outcome:
    """`measure` of pickled work; what cannot be unpickled here is a reason, too."""
    begin = time.perf_counter()
    try:
        work = _unpacked(data)
    except Exception as error:
        reason = (
            f"the model or an option cannot be rebuilt in a worker process ({describe(error)}):"
            " give a function that makes the model, or workers=0"
        )
        return Outcome(index, {}, reason, time.perf_counter() - begin)
    return measure(work, index, before_timing)


@functools.lru_cache(maxsize=1)
def _unpacked(data: bytes) -> Work:
    import pickle

    work: Work = pickle.loads(data)
    return work


def _number(value: Any) -> float | None:
    return None if value is None else float(value)


def describe(error: BaseException) -> str:
    """An exception in one line."""
    text = " ".join(str(error).split()) or type(error).__name__
    kind = "" if isinstance(error, EtlabError) else f"{type(error).__name__}: "
    return (kind + text)[:_LONGEST_REASON]
