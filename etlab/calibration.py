"""Calibration data: whatever a user iterates over, as tuples of a model's arguments."""

import warnings
from collections.abc import Iterable, Iterator, Sized
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from etlab.arguments import check_sample
from etlab.errors import InvalidArgumentError
from etlab.numerics.data import warnings_about

KEPT = 64  # samples that a run keeps for its reports


class Calibration:
    """Samples one after the other, each a tuple of arguments; nothing is read before it is needed.

    A tensor or a tuple is one sample; every other iterable (a list, a `DataLoader`, a generator)
    gives one an item: a tensor, or a tuple or list of arguments, of which those beyond the model's
    inputs (a loader's labels) are left out. Batches larger than the export's fixed batch are cut
    into such batches; what is left over is dropped.

    Args:
        given: the user's data; None stands for the example.
        exported: what `torch.export` made of the model; samples are checked against it.
        example_inputs: arguments of the export.

    Attributes:
        is_example: nothing was given.
        kept: the first samples that were read, at most `KEPT`.
        count: how many were read.
    """

    def __init__(
        self, given: Any, exported: ExportedProgram, example_inputs: tuple[Any, ...]
    ) -> None:
        self.is_example = given is None
        self.kept: list[tuple[Any, ...]] = []
        self.count = 0
        self._exported = exported
        self._example = example_inputs
        self._given: Iterable[Any] = [example_inputs] if given is None else _items(given)

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """The samples; a generator that has run out gives those kept."""
        if self.count and iter(self._given) is self._given:
            yield from list(self.kept)
            return
        self.count = 0
        for index, item in enumerate(self._given):
            for sample in self._samples(item, f"calibration sample {index}"):
                if self.count == len(self.kept) < KEPT:
                    self.kept.append(sample)
                self.count += 1
                yield sample
        if not self.count:
            raise InvalidArgumentError("calibration: it holds no sample; give at least one")

    def __len__(self) -> int:
        """How many items there are.

        Raises:
            TypeError: it is not known beforehand.
        """
        if isinstance(self._given, Sized):
            return len(self._given)
        raise TypeError("the number of calibration samples is not known")

    def samples(self) -> tuple[tuple[Any, ...], ...]:
        """Those kept; where nobody has read any yet, they are read now."""
        if not self.kept:
            for _ in self:
                if len(self.kept) == KEPT:
                    break
        return tuple(self.kept)

    def doubts(self) -> list[str]:
        """Why ranges measured on these samples may not be those of real data.

        No data at all, a single sample, and values that look like `torch.randn` or `torch.rand`
        (uncorrelated neighbours, and the fourth moment of a normal or a uniform distribution) or
        are all the same.
        """
        if self.is_example:
            found = ["the quantizer measured ranges on the example inputs only: give calibration="]
        elif self.count == 1:
            found = ["the quantizer measured ranges on a single sample: give some more"]
        else:
            found = []
        return found + [f"calibration: {text}" for text in warnings_about(self.kept)]

    def warn(self, stacklevel: int) -> tuple[str, ...]:
        """Say the doubts, and return them."""
        doubts = self.doubts()
        for text in doubts:
            warnings.warn(text, stacklevel=stacklevel + 1)
        return tuple(doubts)

    def _samples(self, item: Any, who: str) -> list[tuple[Any, ...]]:
        arguments = item if isinstance(item, tuple | list) else (item,)
        if len(arguments) > len(self._example):
            arguments = arguments[: len(self._example)]
        sample = tuple(arguments)
        check_sample(self._exported, sample, who, with_sizes=False)
        if any(_has_nan(leaf) for leaf in _pytree.tree_leaves(sample)):
            raise InvalidArgumentError(f"{who}: it holds NaN, of which no range can be measured")
        size, wanted = _batch(sample), _batch(self._example)
        if size == wanted or size is None or wanted is None or self._has_free_batch():
            return [sample]
        if size < wanted:
            raise InvalidArgumentError(
                f"{who}: expected batches of {wanted} as at export, got {size}"
            )
        return [_part(sample, start, wanted) for start in range(0, size - wanted + 1, wanted)]

    def _has_free_batch(self) -> bool:
        signature = set(self._exported.graph_signature.user_inputs)
        vals = [n.meta.get("val") for n in self._exported.graph.nodes if n.name in signature]
        return any(
            isinstance(val, torch.Tensor) and val.dim() and isinstance(val.shape[0], torch.SymInt)
            for val in vals
        )


def _items(given: Any) -> Iterable[Any]:
    if isinstance(given, torch.Tensor | tuple):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, str | dict):
        return given
    raise InvalidArgumentError(
        f"calibration: expected a tensor, a tuple of arguments, or an iterable of these (a list, a"
        f" DataLoader), got {type(given).__name__}"
    )


def _has_nan(leaf: Any) -> bool:
    is_float = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
    return is_float and bool(torch.isnan(leaf).any())


def _batch(sample: tuple[Any, ...]) -> int | None:
    """The size of dimension 0 that all tensors have in common; None if there is none."""
    leaves = [leaf for leaf in _pytree.tree_leaves(sample) if isinstance(leaf, torch.Tensor)]
    sizes = {leaf.shape[0] if leaf.dim() else None for leaf in leaves}
    return sizes.pop() if len(sizes) == 1 else None


def _part(sample: tuple[Any, ...], start: int, size: int) -> tuple[Any, ...]:
    part: tuple[Any, ...] = _pytree.tree_map_only(
        torch.Tensor, lambda leaf: leaf[start : start + size], sample
    )
    return part
