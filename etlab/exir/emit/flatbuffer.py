"""Writes annotated dataclasses as a FlatBuffer, on the FlatBuffers library's builder.

Ordinary generated code makes one builder call a field. Here each combination of present fields of a
table becomes one `struct` record with a vtable written once, so a table is one `pack_into`.
Equal vectors and strings are stored once.
"""

import math
import struct
from collections.abc import Callable
from dataclasses import dataclass
from operator import attrgetter
from typing import Any, cast

import flatbuffers

from etlab.exir.emit.fields import Items, OneOf, Scalar, Table, Tables, Text, Texts, table_fields

_SIZES = {"b": 1, "B": 1, "?": 1, "h": 2, "i": 4, "I": 4, "f": 4, "q": 8, "Q": 8, "d": 8}
_REFERENCE = "r"  # a 32-bit offset to something written before


def write_flatbuffer(
    root: Any, *, identifier: bytes, reserved: int = 0, minimum_alignment: int = 1
) -> bytearray:
    """Write a table and all below it as one buffer.

    Args:
        root: an instance of an annotated dataclass (see `etlab.exir.emit.fields`).
        identifier: four bytes that name the file format.
        reserved: zero bytes to leave between the identifier and the rest, for a header.
        minimum_alignment: alignment of the whole buffer, beyond what its content needs.
    """
    writer = _Writer()
    builder = writer.builder
    offset = writer.write_table(root)
    builder.Prep(max(minimum_alignment, builder.minalign), 8 + reserved)
    builder.Pad(reserved)
    builder.Finish(offset, file_identifier=identifier)
    return cast(bytearray, builder.Output())


@dataclass(frozen=True, slots=True)
class _Record:
    """The layout of a table with one set of present fields."""

    pack: struct.Struct
    positions: tuple[int, ...]  # of each packed item, from the table's start
    references: tuple[int, ...]  # which packed items are offsets
    order: tuple[int, ...]  # index into the present items, per packed item
    alignment: int
    vtable: bytes


class _Layout:
    """How one dataclass is written: its fields, and the records met so far."""

    def __init__(self, table: type) -> None:
        self.fields = table_fields(table)
        self.values = _getter([field.name for field in self.fields])
        self.records: dict[tuple[tuple[int, str], ...], _Record] = {}

    def record(self, present: tuple[tuple[int, str], ...]) -> _Record:
        """The layout for the present slots, `(slot, code)` each."""
        record = self.records.get(present)
        if record is None:
            record = self.records[present] = _make_record(present)
        return record


def _getter(names: list[str]) -> Callable[[Any], tuple[Any, ...]]:
    """A function from an item to the tuple of its attributes."""
    if len(names) > 1:
        return attrgetter(*names)
    return lambda item: tuple(getattr(item, name) for name in names)


def _make_record(present: tuple[tuple[int, str], ...]) -> _Record:
    """Place the present fields: the widest first, a 4-byte one in the gap before 8-byte ones."""
    sizes = [_SIZES.get(code, 4) for _, code in present]
    order = sorted(range(len(present)), key=lambda index: (-sizes[index], present[index][0]))
    if 8 in sizes and 4 in sizes:
        order.insert(0, order.pop(next(i for i, item in enumerate(order) if sizes[item] == 4)))
    pattern, positions, end = "<i", [], 4
    for index in order:
        gap = -end % sizes[index]
        pattern += "x" * gap + present[index][1].replace(_REFERENCE, "I")
        positions.append(end + gap)
        end += gap + sizes[index]
    pattern += "x" * (-end % 4)
    slots = [0] * (max((slot for slot, _ in present), default=-1) + 1)
    for index, position in zip(order, positions, strict=True):
        slots[present[index][0]] = position
    pack = struct.Struct(pattern)
    vtable = struct.pack(f"<{len(slots) + 2}H", 2 * len(slots) + 4, pack.size, *slots)
    return _Record(
        pack,
        tuple(positions),
        tuple(i for i, index in enumerate(order) if present[index][1] == _REFERENCE),
        tuple(order),
        max([4, *sizes]),
        vtable,
    )


_layouts: dict[type, _Layout] = {}


class _Writer:
    """Writes back to front: what is referred to comes first, at higher addresses."""

    def __init__(self) -> None:
        self.builder = flatbuffers.Builder(1 << 16)
        self._vectors: dict[tuple[int, int, bytes], int] = {}
        self._vtables: dict[bytes, int] = {}

    def write_table(self, item: Any) -> int:
        """Write a table with everything below it; returns its offset from the buffer's end."""
        layout = _layouts.get(type(item))
        if layout is None:
            layout = _layouts[type(item)] = _Layout(type(item))
        present: list[tuple[int, str]] = []
        values: list[Any] = []
        for field, value in zip(layout.fields, layout.values(item), strict=True):
            if value is None:
                continue
            kind = field.kind
            if type(kind) is Scalar:
                if value != field.default or (kind.code in "fd" and math.copysign(1, value) < 0):
                    present.append((field.slot, kind.code))
                    values.append(value)
                continue
            if type(kind) is OneOf:
                present.append((field.slot, "B"))
                values.append(kind.members.index(type(value)) + 1)
                present.append((field.slot + 1, _REFERENCE))
            else:
                present.append((field.slot, _REFERENCE))
            values.append(self._write_reference(kind, value))
        return self._write_record(layout.record(tuple(present)), values)

    def _write_reference(self, kind: Any, value: Any) -> int:
        if type(kind) is Items:
            return self._write_items(kind, value)
        if type(kind) is Table or type(kind) is OneOf:
            return self.write_table(value)
        if type(kind) is Tables:
            return self._write_offsets([self.write_table(item) for item in value])
        if type(kind) is Texts:
            return self._write_offsets([self.builder.CreateSharedString(text) for text in value])
        assert type(kind) is Text
        return cast(int, self.builder.CreateSharedString(value))

    def _write_record(self, record: _Record, values: list[Any]) -> int:
        builder = self.builder
        size = record.pack.size
        builder.Prep(record.alignment, size)
        builder.head -= size
        head = builder.head
        offset: int = len(builder.Bytes) - head
        packed = [values[index] for index in record.order]
        for index in record.references:
            packed[index] = offset - record.positions[index] - packed[index]
        vtable = self._vtables.get(record.vtable)
        is_new = vtable is None
        if vtable is None:  # it goes right before the table
            vtable = offset + len(record.vtable)
            self._vtables[record.vtable] = vtable
        record.pack.pack_into(builder.Bytes, head, vtable - offset, *packed)
        if is_new:
            builder.Prep(2, len(record.vtable))
            builder.head -= len(record.vtable)
            builder.Bytes[builder.head : builder.head + len(record.vtable)] = record.vtable
        return offset

    def _write_items(self, kind: Items, value: Any) -> int:
        alignment = max(_SIZES[kind.code], kind.alignment)
        if kind.code == "B":
            data = bytes(value)
        else:
            data = struct.pack(f"<{len(value)}{kind.code}", *value)
        key = (len(value), alignment, data)
        offset = self._vectors.get(key)
        if offset is None:
            offset = self._vectors[key] = self._write_vector(data, len(value), alignment)
        return offset

    def _write_offsets(self, offsets: list[int]) -> int:
        count = len(offsets)
        builder = self.builder
        builder.Prep(4, 4 * count)
        start = builder.Offset() + 4 * count  # of the first element
        data = struct.pack(
            f"<{count}I", *[start - 4 * i - offset for i, offset in enumerate(offsets)]
        )
        return self._write_vector(data, count, 4)

    def _write_vector(self, data: bytes, count: int, alignment: int) -> int:
        builder = self.builder
        builder.Prep(4, len(data))
        builder.Prep(alignment, len(data))
        builder.head -= len(data)
        builder.Bytes[builder.head : builder.head + len(data)] = data
        builder.Prep(4, 0)
        builder.head -= 4
        struct.pack_into("<I", builder.Bytes, builder.head, count)
        return cast(int, builder.Offset())
