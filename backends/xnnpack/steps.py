"""What a subgraph becomes before its payload: steps over tensors, their layout still open.

Tensors have PyTorch's logical sizes. In which order a tensor's dimensions lie in memory is decided
by `layout` for all of them at once, and written by `serialize`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch

from etlab.backends.xnnpack.payload.schema import Datatype

Order = tuple[int, ...]

DATATYPES = {
    torch.float32: Datatype.FP32,
    torch.float16: Datatype.FP16,
    torch.bfloat16: Datatype.BF16,
    torch.int32: Datatype.INT32,
    torch.int8: Datatype.QINT8,
}


def plain(rank: int) -> Order:
    """The order of a contiguous tensor."""
    return tuple(range(rank))


def channels_last(rank: int) -> Order:
    """The order with dimension 1 innermost; plain where there is no such thing.

    >>> channels_last(4), channels_last(3), channels_last(2)
    ((0, 2, 3, 1), (0, 2, 1), (0, 1))
    """
    return (0, *range(2, rank), 1) if rank in (3, 4) else plain(rank)


class Layout(Enum):
    """What a step asks of the memory order of its tensors.

    PLAIN: as they are indexed. CHANNELS_LAST: dimension 1 innermost. ANY: the same for all, either
    of the two. FREE: input and output may differ.
    """

    PLAIN = 0
    CHANNELS_LAST = 1
    ANY = 2
    FREE = 3


@dataclass(frozen=True, slots=True)
class PerTensor:
    """One scale and zero point."""

    scale: float
    zero_point: int


@dataclass(frozen=True, slots=True, eq=False)
class PerChannel:
    """A scale per index of `axis`; float32, (sizes[axis],)."""

    scales: torch.Tensor
    axis: int


@dataclass(frozen=True, slots=True, eq=False)
class PerGroup:
    """A scale per `group_size` columns; bfloat16, (rows, columns / group_size)."""

    scales: torch.Tensor
    group_size: int


@dataclass(frozen=True, slots=True)
class Dynamic:
    """Quantized at run time, one scale for the last `nonbatch` dimensions."""

    nonbatch: int


Quantization = PerTensor | PerChannel | PerGroup | Dynamic


@dataclass(slots=True, eq=False)
class Tensor:
    """A tensor between steps.

    Attributes:
        sizes: logical sizes; a symbolic one where it varies.
        datatype: of its elements in the payload.
        quantization: how the elements are to be read.
        constant: its elements, of logical sizes (4-bit weights: packed, as they are stored).
        external: its place among the delegate's inputs, for those.
        fixed: its order in memory when others decided it.
        external_tag: of a constant: the file outside of the program that holds it.
    """

    sizes: tuple[Any, ...]
    datatype: Datatype
    quantization: Quantization | None = None
    constant: torch.Tensor | None = None
    external: int | None = None
    fixed: Order | None = None
    external_tag: str | None = None

    @property
    def is_quantized(self) -> bool:
        """Whether the elements are integers of one scale."""
        return isinstance(self.quantization, PerTensor)

    @property
    def rank(self) -> int:
        """Number of dimensions."""
        return len(self.sizes)


Fields = Mapping[str, Any]


@dataclass(slots=True, eq=False)
class Step:
    """One node of the payload to be.

    Attributes:
        kind: name of the node.
        inputs: field of the node to tensor; None for an absent one.
        outputs: field of the node to tensor.
        fields: its other fields, or a function from the chosen order to them.
        layout: what it asks of the order.
        limits: range that results are limited to; None where there is none.
        handle: debug handle of the operator that it comes from.
        fixed_inputs: inputs that are in their final order already (weights).
        by_elements: only the order of elements in memory counts, not the sizes.
        permutation: for a permutation of dimensions: output dimension to input dimension.
    """

    kind: str
    inputs: dict[str, Tensor | None]
    outputs: dict[str, Tensor]
    fields: Fields | Callable[[Order], Fields]
    layout: Layout
    limits: tuple[float, float] | None = None
    handle: int = 0
    fixed_inputs: frozenset[str] = frozenset()
    by_elements: bool = False
    permutation: Order | None = None
    chosen: Layout = field(default=Layout.PLAIN)

    @property
    def moving_inputs(self) -> list[Tensor]:
        """Inputs that must come in the step's order."""
        return [
            tensor
            for name, tensor in self.inputs.items()
            if tensor is not None and name not in self.fixed_inputs
        ]

    def order(self, rank: int) -> Order:
        """The chosen order for a tensor of this rank."""
        return channels_last(rank) if self.chosen is Layout.CHANNELS_LAST else plain(rank)


@dataclass(slots=True, eq=False)
class Steps:
    """A subgraph as steps.

    Attributes:
        steps: in an order in which everything is made before it is used.
        inputs: the delegate's inputs that are tensors.
        outputs: its outputs; each with the order of memory that it must have.
        arguments: how many inputs it has, numbers included; the outputs come behind them.
        names: the nodes whose results a tensor holds, in order.
    """

    steps: list[Step]
    inputs: list[Tensor]
    outputs: list[tuple[Tensor, Order]]
    arguments: int
    names: dict[Tensor, list[str]] = field(default_factory=dict)

    def remove_dead(self) -> None:
        """Drop steps whose results nobody uses."""
        needed = {id(tensor) for tensor, _ in self.outputs}
        kept: list[Step] = []
        for step in reversed(self.steps):
            if any(id(tensor) in needed for tensor in step.outputs.values()):
                kept.append(step)
                needed |= {id(tensor) for tensor in step.inputs.values() if tensor is not None}
        self.steps = kept[::-1]
