"""How a dataclass says what FlatBuffer table it is: annotated field types.

A table is a frozen dataclass whose fields stand in the order of the schema's slots. Each field's
annotation gives its kind, so that one description serves reading, writing and people:

    @dataclass(frozen=True, slots=True)
    class Chain:
        inputs: Int32s | None = None
        instructions: tuple[Instruction, ...] = ()

A nested dataclass is a table, `tuple[Table, ...]` a vector of tables, `str` a string,
`tuple[str, ...]` a vector of them, `OneOf` a union (which takes two slots). `None` is absence.
"""

from dataclasses import MISSING, dataclass, fields
from enum import IntEnum
from functools import cache
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number stored in the table itself; `code` as in `struct`."""

    code: str


@dataclass(frozen=True, slots=True)
class Items:
    """A vector of numbers; `alignment` of its first element when more than the number's own."""

    code: str
    alignment: int = 0


@dataclass(frozen=True, slots=True)
class OneOf:
    """A union: member number i has tag i + 1."""

    members: tuple[type, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A string."""


@dataclass(frozen=True, slots=True)
class Texts:
    """A vector of strings."""


@dataclass(frozen=True, slots=True)
class Table:
    """A nested table."""

    type: type


@dataclass(frozen=True, slots=True)
class Tables:
    """A vector of tables."""

    type: type


Kind = Scalar | Items | OneOf | Text | Texts | Table | Tables

Int8 = Annotated[int, Scalar("b")]
Int16 = Annotated[int, Scalar("h")]
Int32 = Annotated[int, Scalar("i")]
UInt32 = Annotated[int, Scalar("I")]
Int64 = Annotated[int, Scalar("q")]
UInt64 = Annotated[int, Scalar("Q")]
Float32 = Annotated[float, Scalar("f")]
Float64 = Annotated[float, Scalar("d")]
Boolean = Annotated[bool, Scalar("?")]
Int32s = Annotated[tuple[int, ...], Items("i")]
UInt32s = Annotated[tuple[int, ...], Items("I")]
Int64s = Annotated[tuple[int, ...], Items("q")]
UInt64s = Annotated[tuple[int, ...], Items("Q")]
UInt8s = Annotated[tuple[int, ...], Items("B")]
Float32s = Annotated[tuple[float, ...], Items("f")]
Float64s = Annotated[tuple[float, ...], Items("d")]
Booleans = Annotated[tuple[bool, ...], Items("?")]
Bytes = Annotated[bytes, Items("B")]
AlignedBytes = Annotated[bytes, Items("B", 16)]


@dataclass(frozen=True, slots=True)
class Field:
    """One field of a table.

    Attributes:
        name: the dataclass's field.
        slot: its first slot in the vtable.
        kind: how it is stored.
        default: for numbers, the value that is not stored.
        enum: the class that a read number is turned into.
        is_bytes: a vector of bytes read as `bytes`, not as a tuple.
        absent: what a reader gives for a missing field that is no number.
    """

    name: str
    slot: int
    kind: Kind
    default: Any
    enum: type[IntEnum] | None
    is_bytes: bool
    absent: Any


@cache
def table_fields(table: type) -> tuple[Field, ...]:
    """The fields of a table class, in slot order.

    Raises:
        TypeError: a field's annotation says no kind.
    """
    hints = get_type_hints(table, include_extras=True)
    result: list[Field] = []
    slot = 0
    for item in fields(table):
        kind, base = _kind_of(hints[item.name])
        absent = None if item.default is MISSING else item.default
        is_enum = isinstance(base, type) and issubclass(base, IntEnum)
        default: Any = 0
        if isinstance(kind, Scalar):
            default = {"f": 0.0, "d": 0.0, "?": False}.get(kind.code, 0)
            if item.default is not MISSING:
                default = item.default
        result.append(
            Field(item.name, slot, kind, default, base if is_enum else None, base is bytes, absent)
        )
        slot += 2 if isinstance(kind, OneOf) else 1
    return tuple(result)


def _kind_of(hint: Any) -> tuple[Kind, Any]:
    """The kind that an annotation names, and its plain type."""
    if get_origin(hint) is Annotated:
        base, kind = get_args(hint)[:2]
        return kind, base
    if get_origin(hint) in (UnionType, Union):
        present = [member for member in get_args(hint) if member is not NoneType]
        if len(present) == 1:
            return _kind_of(present[0])
    if get_origin(hint) is tuple and get_args(hint)[0] is str:
        return Texts(), tuple
    if get_origin(hint) is tuple:
        return Tables(get_args(hint)[0]), tuple
    if hint is str:
        return Text(), str
    if isinstance(hint, type):
        return Table(hint), hint
    raise TypeError(f"{hint!r} does not say how it is stored; annotate it with a kind")
