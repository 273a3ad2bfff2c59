"""Reading GGUF files, the form in which packages ship language models.

Format: github.com/ggml-org/ggml, docs/gguf.md.
"""

import math
import struct
from pathlib import Path
from typing import Any

import numpy as np
import torch

from etlab.errors import InvalidArgumentError

_SCALARS = dict(enumerate("BbHhIif?")) | {10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_BLOCK = 32
# Name, elements and bytes of a block, by the file's number of the type.
_TYPES = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", _BLOCK, 18),
    3: ("Q4_1", _BLOCK, 20),
    8: ("Q8_0", _BLOCK, 34),
}


class GgufFile:
    """A GGUF file: `metadata` by key, and tensors, which are read when they are asked for."""

    def __init__(self, path: str | Path) -> None:
        """Read the head of a file.

        Raises:
            InvalidArgumentError: it is no GGUF file, or of the first version.
        """
        self._bytes = np.memmap(path, mode="r", dtype=np.uint8)
        self._place = 4
        if bytes(self._bytes[:4]) != b"GGUF":
            raise InvalidArgumentError(f"'{path}' is not a GGUF file")
        try:
            self._read_head(path)
        except (struct.error, KeyError, OverflowError) as error:
            raise InvalidArgumentError(f"'{path}' is damaged: its head ends early") from error

    def _read_head(self, path: str | Path) -> None:
        (version,) = self._numbers("I")
        if version < 2:
            raise InvalidArgumentError(f"'{path}' is GGUF version {version}; convert it to 3")
        tensor_count, entry_count = self._numbers("QQ")
        self.metadata: dict[str, Any] = {}
        for _ in range(entry_count):
            key = self._string()
            self.metadata[key] = self._value(self._numbers("I")[0])
        self._tensors: dict[str, tuple[tuple[int, ...], int, int]] = {}
        for _ in range(tensor_count):
            name = self._string()
            sizes = self._numbers("Q" * self._count(self._numbers("I")[0]))
            kind, offset = self._numbers("IQ")
            self._tensors[name] = (tuple(reversed(sizes)), kind, offset)
        alignment = self.metadata.get("general.alignment", 32)
        self._data = -(-self._place // alignment) * alignment

    @property
    def names(self) -> list[str]:
        """Names of the tensors, in the order of the file."""
        return list(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """A tensor's sizes in torch's order.

        Raises:
            InvalidArgumentError: there is none of the name.
        """
        if name not in self._tensors:
            raise InvalidArgumentError(f"the GGUF file has no tensor '{name}'")
        return self._tensors[name][0]

    def tensor(self, name: str) -> torch.Tensor:
        """A tensor in its torch shape, dequantized to float32.

        Raises:
            InvalidArgumentError: there is none of the name, or its type is not read here.
        """
        sizes = self.shape(name)
        values = _dequantize(self.form(name), self._raw(name))
        return torch.from_numpy(np.ascontiguousarray(values.reshape(sizes)))

    def form(self, name: str) -> str:
        """How a tensor is stored: "F32", "Q4_1" …, or the number of a type that is not read here.

        Raises:
            InvalidArgumentError: there is none of the name.
        """
        self.shape(name)
        kind = self._tensors[name][1]
        return _TYPES[kind][0] if kind in _TYPES else str(kind)

    def blocks(self, name: str) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor | None]:
        """A matrix of type Q4_0, Q4_1 or Q8_0 as it is stored, in blocks of 32 columns.

        Returns:
            Values (rows, columns): int8, or uint8 from 0 to 15 where there is a third part; scales
            (rows, blocks) float16; least values alike, of 4-bit types.

        Raises:
            InvalidArgumentError: it has another type.
        """
        form = self.form(name)
        if not form.startswith("Q"):
            raise InvalidArgumentError(f"tensor '{name}' has type {form}, which has no blocks")
        rows = self.shape(name)[0]
        raw = self._raw(name)
        scales = raw[:, :2].copy().view(np.float16)
        if form == "Q8_0":
            return (_rows(raw[:, 2:].view(np.int8), rows), _rows(scales, rows), None)
        nibbles = raw[:, 4:] if form == "Q4_1" else raw[:, 2:]
        steps = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)
        least = raw[:, 2:4].copy().view(np.float16) if form == "Q4_1" else scales * np.float16(-8)
        return _rows(steps, rows), _rows(scales, rows), _rows(least, rows)

    def _raw(self, name: str) -> np.ndarray:
        """(blocks, bytes of one)."""
        sizes, kind, offset = self._tensors[name]
        if kind not in _TYPES:
            raise InvalidArgumentError(f"tensor '{name}' has GGUF type {kind}, which is not read")
        _, elements, nbytes = _TYPES[kind]
        begin = self._data + offset
        end = begin + math.prod(sizes) // elements * nbytes
        if end > len(self._bytes) or math.prod(sizes) % elements:
            raise InvalidArgumentError(f"tensor '{name}' does not lie in the file: it is cut off")
        return np.asarray(self._bytes[begin:end]).reshape(-1, nbytes)

    def _numbers(self, form: str) -> tuple[Any, ...]:
        numbers = struct.unpack_from("<" + form, self._bytes.data, self._place)
        self._place += struct.calcsize("<" + form)
        return numbers

    def _count(self, items: int) -> int:
        """A number of items, each of a byte or more, that the file has room for."""
        if items > len(self._bytes) - self._place:
            raise struct.error
        return items

    def _string(self) -> str:
        length = self._count(self._numbers("Q")[0])
        self._place += length
        return bytes(self._bytes[self._place - length : self._place]).decode("utf-8", "replace")

    def _value(self, kind: int) -> Any:
        if kind == _STRING:
            return self._string()
        if kind != _ARRAY:
            return self._numbers(_SCALARS[kind])[0]
        (item,) = self._numbers("I")
        (length,) = self._numbers("Q")
        if item in _SCALARS:
            return list(self._numbers(_SCALARS[item] * self._count(length)))
        return [self._value(item) for _ in range(length)]


def _rows(values: np.ndarray, rows: int) -> torch.Tensor:
    return torch.from_numpy(np.ascontiguousarray(values.reshape(rows, -1)))


def _dequantize(form: str, blocks: np.ndarray) -> np.ndarray:
    """(blocks, bytes) uint8 to (blocks, elements) float32."""
    if form in ("F32", "F16"):
        return blocks.view(np.float32 if form == "F32" else np.float16).astype(np.float32)
    scale = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    if form == "Q8_0":
        return blocks[:, 2:].view(np.int8).astype(np.float32) * scale
    nibbles = blocks[:, 4:] if form == "Q4_1" else blocks[:, 2:]
    steps = np.concatenate([nibbles & 15, nibbles >> 4], axis=-1)  # low nibbles come first
    if form == "Q4_0":
        return (steps.astype(np.float32) - 8.0) * scale
    least = blocks[:, 2:4].copy().view(np.float16).astype(np.float32)
    return steps * scale + least
