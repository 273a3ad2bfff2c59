"""Reads a FlatBuffer back into annotated dataclasses, checking every offset before it is followed.

What is shared in the buffer is shared in the result, so a small hostile buffer cannot grow into a
large one.
"""

import struct
from typing import Any

from etlab.errors import InvalidProgramError
from etlab.exir.emit.fields import (
    Field,
    Items,
    OneOf,
    Scalar,
    Table,
    Tables,
    Text,
    Texts,
    table_fields,
)

_SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "d": 8}
_SCALARS = {code: struct.Struct("<" + code) for code in _SIZES}
_MAXIMUM_ITEMS = 50_000_000


def read_flatbuffer(data: bytes | bytearray | memoryview, root: type, *, identifier: bytes) -> Any:
    """Read a buffer whose root table is `root`.

    Raises:
        InvalidProgramError: the buffer has another identifier, is cut short or refers to places
            outside of itself.
    """
    buffer = memoryview(data)
    if len(buffer) < 8:
        raise InvalidProgramError(
            f"the buffer has {len(buffer)} bytes, too few for a FlatBuffer; the file is cut short"
        )
    found = bytes(buffer[4:8])
    if found != identifier:
        raise InvalidProgramError(
            f"expected file identifier {identifier!r}, found {found!r}; this is no"
            f" {root.__name__} file"
        )
    reader = _Reader(buffer)
    return reader.table(reader.reference(0), root)


class _Reader:
    def __init__(self, buffer: memoryview) -> None:
        self._buffer = buffer
        self._tables: dict[tuple[int, type], Any] = {}
        self._vectors: dict[tuple[int, Any], Any] = {}
        self._items = 0

    def table(self, position: int, table: type) -> Any:
        """The table at `position`."""
        key = (position, table)
        if key not in self._tables:
            vtable, vtable_size, size = self._vtable(position, table)
            values: dict[str, Any] = {}
            for field in table_fields(table):
                slot = self._slot(vtable, vtable_size, field.slot)
                if isinstance(field.kind, OneOf):
                    payload = self._slot(vtable, vtable_size, field.slot + 1)
                    value = self._union(field, position, slot, payload, size)
                else:
                    value = self._field(field, position, slot, size)
                values[field.name] = value
            self._tables[key] = table(**values)
        return self._tables[key]

    def reference(self, position: int) -> int:
        """Where the 32-bit offset at `position` leads."""
        target: int = position + self._number("I", position)
        if target <= position or target + 4 > len(self._buffer):
            raise self._damaged(f"the offset at byte {position} leads to byte {target}")
        return target

    def _vtable(self, position: int, table: type) -> tuple[int, int, int]:
        vtable = position - self._number("i", position)
        if vtable < 0 or vtable + 4 > len(self._buffer):
            raise self._damaged(f"table {table.__name__} at byte {position} has no valid vtable")
        vtable_size, size = struct.unpack_from("<HH", self._buffer, vtable)
        too_long = vtable + vtable_size > len(self._buffer) or position + size > len(self._buffer)
        if vtable_size < 4 or vtable_size % 2 or too_long or size < 4:
            raise self._damaged(f"table {table.__name__} at byte {position} has impossible sizes")
        return vtable, vtable_size, size

    def _slot(self, vtable: int, vtable_size: int, slot: int) -> int:
        """A field's distance from the table's start; 0 when absent."""
        entry = 4 + 2 * slot
        if entry + 2 > vtable_size:
            return 0
        return int(struct.unpack_from("<H", self._buffer, vtable + entry)[0])

    def _field(self, field: Field, position: int, slot: int, size: int) -> Any:
        kind = field.kind
        if isinstance(kind, Scalar):
            if not slot:
                return field.default
            if slot + _SIZES[kind.code] > size:
                raise self._damaged(f"field {field.name} lies outside of its table")
            value = self._number(kind.code, position + slot)
            return self._enum(field, value) if field.enum else value
        if not slot:
            return None
        if slot + 4 > size:
            raise self._damaged(f"field {field.name} lies outside of its table")
        target = self.reference(position + slot)
        if isinstance(kind, Items):
            return self._vector(target, kind, is_bytes=field.is_bytes)
        if isinstance(kind, Text):
            return self._text(target, field)
        if isinstance(kind, Texts):
            return self._text_vector(target, field)
        if isinstance(kind, Tables):
            return self._table_vector(target, kind)
        assert isinstance(kind, Table)
        return self.table(target, kind.type)

    def _union(self, field: Field, position: int, slot: int, payload: int, size: int) -> Any:
        assert isinstance(field.kind, OneOf)
        if slot >= size or (payload and payload + 4 > size):
            raise self._damaged(f"field {field.name} lies outside of its table")
        tag = self._number("B", position + slot) if slot else 0
        if tag == 0 or not payload:
            return None
        if tag > len(field.kind.members):
            raise InvalidProgramError(
                f"{field.name} has kind {tag}, but this reader knows 1 to"
                f" {len(field.kind.members)}; the file is damaged or newer than this reader"
            )
        return self.table(self.reference(position + payload), field.kind.members[tag - 1])

    def _vector(self, position: int, kind: Items, *, is_bytes: bool) -> Any:
        key = (position, (kind.code, is_bytes))
        if key not in self._vectors:
            count = self._count(position, _SIZES[kind.code])
            start = position + 4
            if is_bytes:
                self._vectors[key] = bytes(self._buffer[start : start + count])
            else:
                self._vectors[key] = struct.unpack_from(f"<{count}{kind.code}", self._buffer, start)
        return self._vectors[key]

    def _table_vector(self, position: int, kind: Tables) -> Any:
        key = (position, kind.type)
        if key not in self._vectors:
            count = self._count(position, 4)
            self._vectors[key] = tuple(
                self.table(self.reference(position + 4 + 4 * index), kind.type)
                for index in range(count)
            )
        return self._vectors[key]

    def _text_vector(self, position: int, field: Field) -> tuple[str, ...]:
        key = (position, Texts)
        if key not in self._vectors:
            count = self._count(position, 4)
            self._vectors[key] = tuple(
                self._text(self.reference(position + 4 + 4 * index), field)
                for index in range(count)
            )
        found: tuple[str, ...] = self._vectors[key]
        return found

    def _text(self, position: int, field: Field) -> str:
        count = self._count(position, 1)
        try:
            return str(self._buffer[position + 4 : position + 4 + count], "utf-8")
        except UnicodeDecodeError as error:
            raise self._damaged(f"{field.name} at byte {position} is no UTF-8 text") from error

    def _count(self, position: int, item_size: int) -> int:
        count: int = self._number("I", position)
        if position + 4 + count * item_size > len(self._buffer):
            raise self._damaged(f"the vector at byte {position} claims {count} items")
        self._items += count
        if self._items > _MAXIMUM_ITEMS:
            raise self._damaged(f"its vectors hold more than {_MAXIMUM_ITEMS} items")
        return count

    def _number(self, code: str, position: int) -> Any:
        if position < 0 or position + _SIZES[code] > len(self._buffer):
            raise self._damaged(f"byte {position} is needed")
        return _SCALARS[code].unpack_from(self._buffer, position)[0]

    def _enum(self, field: Field, value: int) -> Any:
        assert field.enum is not None
        try:
            return field.enum(value)
        except ValueError:
            raise InvalidProgramError(
                f"{field.name} is {value}, which is no {field.enum.__name__}; the file is damaged"
                " or newer than this reader"
            ) from None

    def _damaged(self, what: str) -> InvalidProgramError:
        return InvalidProgramError(
            f"the file is damaged or cut short: {what}, but the buffer has {len(self._buffer)}"
            " bytes"
        )
