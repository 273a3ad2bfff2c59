"""What a program file must know of a tensor: dtype, sizes and their bounds, order of dimensions."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from etlab.errors import LoweringError
from etlab.exir.emit.enums import TensorShapeDynamism

_LARGEST_SIZE = 2**31 - 1


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Shape and layout of one tensor of a program.

    Attributes:
        dtype: element type.
        sizes: sizes; of a dynamic dimension, its largest.
        dim_order: dimensions from the outermost in memory to the innermost.
        dynamism: whether a size can change at run time.
    """

    dtype: torch.dtype
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    dynamism: TensorShapeDynamism = TensorShapeDynamism.STATIC

    @property
    def is_static(self) -> bool:
        """Whether all sizes are fixed."""
        return self.dynamism is TensorShapeDynamism.STATIC

    @property
    def nbytes(self) -> int:
        """Bytes of the tensor at its largest."""
        return math.prod(self.sizes) * self.dtype.itemsize

    @property
    def is_contiguous(self) -> bool:
        """Whether the dimensions lie in memory in their own order."""
        return all(dim == place for place, dim in enumerate(self.dim_order))


def contiguous_order(rank: int) -> tuple[int, ...]:
    """The order of dimensions of a contiguous tensor."""
    return tuple(range(rank))


def order_of_strides(sizes: Sequence[Any], strides: Sequence[Any]) -> tuple[int, ...]:
    """Dimensions by falling stride; dimensions of equal stride keep their order.

    Dimensions of size 1 have no say: their stride is arbitrary.

    >>> order_of_strides((2, 3, 4, 5), (60, 1, 15, 3))
    (0, 2, 3, 1)
    """
    rank = len(sizes)
    if rank < 2 or _is_contiguous(sizes, strides):
        return contiguous_order(rank)
    return tuple(sorted(range(rank), key=lambda dim: -_example(strides[dim])))


def channels_last_order(tensor: torch.Tensor) -> tuple[int, ...] | None:
    """The order of a picture or volume whose channels lie innermost; None when it lies otherwise.

    Memory with gaps, and what is contiguous as well, lies otherwise.

    >>> channels_last_order(torch.empty(2, 3, 4, 5).to(memory_format=torch.channels_last))
    (0, 2, 3, 1)
    """
    sizes, strides = tensor.shape, tensor.stride()
    if len(sizes) not in (4, 5) or _is_contiguous(sizes, strides):
        return None
    order = (0, *range(2, len(sizes)), 1)
    is_dense = _is_contiguous([sizes[dim] for dim in order], [strides[dim] for dim in order])
    return order if is_dense else None


def _example(stride: Any) -> int:
    """A stride; of a symbolic one its value in the example, found without a guard."""
    if isinstance(stride, int):
        return stride
    hint = stride.node.hint
    return 0 if hint is None else int(hint)


def _is_contiguous(sizes: Sequence[Any], strides: Sequence[Any]) -> bool:
    expected: Any = 1
    for size, stride in zip(reversed(sizes), reversed(strides), strict=True):
        if isinstance(size, int) and size == 0:
            return True
        if isinstance(size, int) and size == 1:
            continue
        if isinstance(stride, int) and isinstance(expected, int):
            if stride != expected:
                return False
        elif _symbol(stride) != _symbol(expected):
            return False
        expected = expected * size
    return True


def _symbol(size: Any) -> Any:
    return size.node.expr.expand() if isinstance(size, torch.SymInt) else size


class Bounds:
    """Largest values of symbolic sizes, from a program's range constraints."""

    def __init__(self, range_constraints: Mapping[Any, Any]) -> None:
        """Bounds of the symbols in `range_constraints`."""
        self._ranges = dict(range_constraints)
        self._known: dict[Any, int] = {}

    def upper(self, size: Any, what: str) -> int:
        """The largest value of a size.

        Raises:
            LoweringError: nothing bounds it; the message names `what` and the way out.
        """
        if isinstance(size, int):
            return size
        expression = size.node.expr
        if expression not in self._known:
            # Here, as sympy takes a third of a second to load and static programs do without.
            from torch.utils._sympy.value_ranges import bound_sympy

            bound = bound_sympy(expression, self._ranges).upper
            if not bound.is_Integer and not isinstance(bound, int):
                bound = None
            if bound is None or int(bound) > _LARGEST_SIZE:
                raise LoweringError(
                    f"{what}: size {expression} has no upper bound, so no memory can be planned;"
                    ' export with dynamic_shapes={… Dim("name", max=N)}, or bound it in the model'
                    " with torch._check(size <= N)"
                )
            self._known[expression] = int(bound)
        return self._known[expression]

    def spec_of(self, tensor: torch.Tensor, what: str) -> TensorSpec:
        """The spec of a (fake) tensor; `what` names it in errors."""
        if tensor.layout is not torch.strided:
            raise LoweringError(
                f"{what} has layout {tensor.layout}; a program holds dense tensors only: convert it"
                " with .to_dense() in the model"
            )
        sizes = tensor.shape
        is_static = all(type(size) is int for size in sizes)
        strides = tensor.stride()
        if is_static:
            order = order_of_strides(sizes, strides)
            return TensorSpec(tensor.dtype, tuple(sizes), order)
        bounded = tuple(self.upper(size, what) for size in sizes)
        if _is_contiguous(sizes, strides):
            order = contiguous_order(len(sizes))
        else:
            upper = [self.upper(stride, what) for stride in strides]
            order = order_of_strides(bounded, upper)
        return TensorSpec(tensor.dtype, bounded, order, TensorShapeDynamism.DYNAMIC_BOUND)
