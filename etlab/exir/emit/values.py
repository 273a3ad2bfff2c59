"""A method's table of values, with equal constants stored once."""

import struct
from collections.abc import Sequence
from typing import Any

import torch

from etlab.errors import LoweringError
from etlab.exir.emit.scalar_type import MEMORY_FORMATS, scalar_type_of
from etlab.exir.emit.schema import (
    Bool,
    BoolList,
    Double,
    DoubleList,
    EValue,
    Int,
    IntList,
    KernelTypes,
    Null,
    OptionalTensorList,
    String,
    TensorList,
)
from etlab.exir.ops import Argument


class ValueTable:
    """The entries made so far; a value is known by its index."""

    def __init__(self) -> None:
        """An empty table."""
        self.entries: list[EValue] = []
        self._known: dict[Any, int] = {}

    def add(self, value: KernelTypes) -> int:
        """A new entry."""
        self.entries.append(EValue(value))
        return len(self.entries) - 1

    def shared(self, key: Any, value: KernelTypes) -> int:
        """The entry of a constant, made when `key` is new."""
        index = self._known.get(key)
        if index is None:
            index = self._known[key] = self.add(value)
        return index

    def integer(self, number: int) -> int:
        """An integer constant."""
        return self.shared(("int", int(number)), Int(int(number)))

    def tensor_list(self, items: Sequence[int | None], *, has_optional_items: bool = False) -> int:
        """A list of tensors given by their entries."""
        indices = tuple(-1 if item is None else item for item in items)
        kind = OptionalTensorList if has_optional_items else TensorList
        return self.shared((kind, indices), kind(indices))

    def integer_list(self, items: Sequence[int]) -> int:
        """A list of integers given by their entries."""
        indices = tuple(items)
        return self.shared((IntList, indices), IntList(indices))

    def constant(self, value: Any, argument: Argument, what: str) -> int:
        """A Python constant as `argument` takes it; `what` names the call in errors.

        Raises:
            LoweringError: a program cannot hold it.
        """
        if value is None or argument.base in ("Device", "Generator"):
            return self.shared(None, Null())
        if argument.is_list:
            return self._constant_list(value, argument, what)
        try:
            return self._scalar(value, argument.base)
        except (TypeError, KeyError, ValueError, OverflowError) as error:
            raise LoweringError(
                f"{what}: argument '{argument.name}' of type {argument.base} is {value!r}, which a"
                " program cannot hold"
            ) from error

    def any_constant(self, value: Any) -> int | None:
        """A Python constant of its own type; None when a program has no such type."""
        if value is None:
            return self.shared(None, Null())
        for kind, base in ((bool, "bool"), (int, "int"), (float, "float"), (str, "str")):
            if isinstance(value, kind):
                return self._scalar(value, base)
        if isinstance(value, torch.dtype):
            return self._scalar(value, "ScalarType")
        if isinstance(value, torch.layout):
            return self._scalar(value, "Layout")
        return None

    def _scalar(self, value: Any, base: str) -> int:
        if base == "number":
            base = {bool: "bool", int: "int", float: "float"}[type(value)]
        if base == "int" or (base == "ScalarType" and isinstance(value, int)):
            return self.integer(value)
        if base == "float":
            number = float(value)
            return self.shared(struct.pack("<d", number), Double(number))
        if base == "bool":
            return self.shared(("bool", bool(value)), Bool(bool(value)))
        if base == "str":
            return self.shared(("str", str(value)), String(str(value)))
        if base == "ScalarType":
            return self.integer(scalar_type_of(value))
        if base == "MemoryFormat":
            return self.integer(MEMORY_FORMATS[value])
        if base == "Layout" and value is torch.strided:
            return self.integer(0)
        raise TypeError(base)

    def _constant_list(self, value: Any, argument: Argument, what: str) -> int:
        items = [value] * (argument.length or 1) if not isinstance(value, list | tuple) else value
        base = argument.base
        if base == "number":
            base = "float" if any(isinstance(item, float) for item in items) else "int"
        if base == "int":
            return self.integer_list([self.integer(item) for item in items])
        if base == "float":
            numbers = tuple(float(item) for item in items)
            key = (DoubleList, struct.pack(f"<{len(numbers)}d", *numbers))
            return self.shared(key, DoubleList(numbers))
        if base == "bool":
            flags = tuple(bool(item) for item in items)
            return self.shared((BoolList, flags), BoolList(flags))
        raise LoweringError(
            f"{what}: argument '{argument.name}' is a list of {argument.base}, which a program"
            " cannot hold"
        )
