"""Arguments of operators as plain data that a file can hold."""

from dataclasses import dataclass
from typing import Any

import torch

from etlab.errors import NotSupportedError


@dataclass(frozen=True, slots=True)
class Value:
    """The place of an argument that another node computes, an input or a constant."""

    number: int


_TORCH_OBJECTS = (torch.dtype, torch.memory_format, torch.layout)


def to_plain(leaf: Any) -> Any:
    """An argument as numbers, strings, lists, and dicts with one key that mark the rest.

    Raises:
        NotSupportedError: it is of another kind.
    """
    if isinstance(leaf, list | tuple):
        return [to_plain(item) for item in leaf]
    if leaf is None or isinstance(leaf, bool | int | float | str):
        return leaf
    if isinstance(leaf, Value):
        return {"value": leaf.number}
    if isinstance(leaf, complex):
        return {"complex": [leaf.real, leaf.imag]}
    if isinstance(leaf, torch.device):
        return {"device": str(leaf)}
    if isinstance(leaf, _TORCH_OBJECTS):
        return {"torch": str(leaf).removeprefix("torch.")}
    raise NotSupportedError(f"an argument of type {type(leaf).__name__} cannot be stored")


def from_plain(plain: Any) -> Any:
    """What `to_plain` made it from; tuples come back as lists.

    Raises:
        ValueError: it was not made so.
    """
    if isinstance(plain, list):
        return [from_plain(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if set(plain) == {"value"}:
        return Value(int(plain["value"]))
    if set(plain) == {"complex"}:
        return complex(*plain["complex"])
    if set(plain) == {"device"}:
        return torch.device(plain["device"])
    if set(plain) == {"torch"}:
        found = getattr(torch, plain["torch"], None)
        if not isinstance(found, _TORCH_OBJECTS):
            raise ValueError(f"torch.{plain['torch']} is no dtype, layout or memory format")
        return found
    raise ValueError(f"{plain!r} marks no argument")


def name_of(dtype: torch.dtype | None) -> str | None:
    """The name of a dtype."""
    return None if dtype is None else str(dtype).removeprefix("torch.")


def dtype_of(name: str | None) -> torch.dtype | None:
    """The dtype of a name.

    Raises:
        ValueError: there is none.
    """
    dtype = None if name is None else getattr(torch, name, None)
    if name is not None and not isinstance(dtype, torch.dtype):
        raise ValueError(f"torch.{name} is no dtype")
    return dtype
