"""Steps that move elements: reshapes, permutations, slices, borders, concatenation."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from etlab.backends.xnnpack.steps import Fields, Layout, Order, Tensor, plain

if TYPE_CHECKING:
    from etlab.backends.xnnpack.translate import Translation


def reshape(translation: "Translation", tensor: Tensor, sizes: Sequence[Any]) -> Tensor:
    """The same elements in other sizes; at most one of them symbolic."""
    shape = tuple(size if isinstance(size, int) else 0 for size in sizes)
    return translation.emit(
        "StaticReshape",
        {"input_id": tensor},
        translation.like(tensor, sizes),
        layout=Layout.PLAIN,
        fields={"num_dims": len(shape), "new_shape": shape},
        by_elements=True,
    )


def reshape_last(translation: "Translation", tensor: Tensor, sizes: Sequence[Any]) -> Tensor:
    """Reshape where both sides have their channels (dimension 1) innermost."""
    shape = [sizes[0], *sizes[2:], sizes[1]]
    shape = [size if isinstance(size, int) else 0 for size in shape]
    return translation.emit(
        "StaticReshape",
        {"input_id": tensor},
        translation.like(tensor, sizes),
        layout=Layout.CHANNELS_LAST,
        fields={"num_dims": len(shape), "new_shape": tuple(shape)},
    )


def slice(translation: "Translation", tensor: Tensor, dim: int, begin: int, size: Any) -> Tensor:
    """`size` elements of a dimension."""
    rank, sizes = tensor.rank, list(tensor.sizes)
    sizes[dim] = size

    def fields(order: Order) -> Fields:
        counts = [sizes[d] if isinstance(sizes[d], int) else 0 for d in order]  # 0: all
        offsets = [begin if d == dim else 0 for d in order]
        return {"num_dims": rank, "offsets": tuple(offsets), "sizes": tuple(counts)}

    output = translation.like(tensor, sizes)
    return translation.unary("StaticSlice", tensor, output, fields=fields)


def pad(
    translation: "Translation", tensor: Tensor, around: Sequence[tuple[int, int]], value: float
) -> Tensor:
    """A border; `around` is how much before and behind every dimension."""

    def fields(order: Order) -> Fields:
        return {
            "pre_paddings": tuple(around[dim][0] for dim in order),
            "post_paddings": tuple(around[dim][1] for dim in order),
            "padding_value": value,
        }

    sizes = [low + size + high for size, (low, high) in zip(tensor.sizes, around, strict=True)]
    return translation.unary(
        "StaticConstantPad", tensor, translation.like(tensor, sizes), fields=fields
    )


def concatenate(
    translation: "Translation", tensors: Sequence[Tensor], dim: int, sizes: Sequence[Any]
) -> Tensor:
    """Tensors behind each other, five at a time."""
    parts = list(tensors)
    while len(parts) > 5:
        total: Any = sum(part.sizes[dim] for part in parts[:5])
        head = [*parts[0].sizes[:dim], total, *parts[0].sizes[dim + 1 :]]
        parts[:5] = [concatenate(translation, parts[:5], dim, head)]
    if len(parts) == 1:
        return parts[0]
    names = [f"input{index}_id" for index in range(1, 6)]
    inputs = dict.fromkeys(names) | dict(zip(names, parts, strict=False))
    return translation.emit(
        f"Concatenate{len(parts)}",
        inputs,
        translation.like(parts[0], sizes),
        layout=Layout.ANY,
        fields=lambda order: {"axis": order.index(dim)},
    )


def permute(translation: "Translation", tensor: Tensor, permutation: Sequence[int]) -> Tensor:
    """The tensor with its dimensions in another order."""
    order = tuple(permutation)
    if order == plain(tensor.rank):
        return tensor
    return translation.emit(
        "StaticTranspose",
        {"input_id": tensor},
        translation.like(tensor, [tensor.sizes[dim] for dim in order]),
        layout=Layout.FREE,
        permutation=order,
    )
