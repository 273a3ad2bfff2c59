"""Tensors that instructions name, one by one or in lists."""

from collections.abc import Sequence

from etlab.exir.emit import schema


def open_lists(indices: Sequence[int], values: Sequence[object]) -> list[int]:
    """Value indices with those of tensor lists replaced by the indices of what is in them.

    An absent tensor of a list is left out; an index without a value stays, as a file may hold it.
    """
    result: list[int] = []
    for index in indices:
        value = values[index] if 0 <= index < len(values) else None
        if isinstance(value, schema.TensorList | schema.OptionalTensorList):
            result += [item for item in value.items or () if item >= 0]
        else:
            result.append(index)
    return result
