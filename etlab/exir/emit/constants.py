"""The bytes that a program carries beside its FlatBuffer, each stored once."""

from dataclasses import dataclass, field

import numpy as np
import torch
from numpy.typing import NDArray
from torch._subclasses.fake_tensor import FakeTensor

from etlab.errors import InvalidArgumentError, LoweringError

Raw = NDArray[np.uint8]
_SAMPLE = 64


def raw_bytes(tensor: torch.Tensor, dim_order: tuple[int, ...], name: str) -> Raw:
    """The elements of a tensor as they lie in memory, without a copy if possible.

    Raises:
        LoweringError: the tensor holds no data.
    """
    if isinstance(tensor, FakeTensor) or tensor.is_meta:
        raise LoweringError(
            f"tensor '{name}' has no data (it is a fake or meta tensor); export the model with its"
            " weights"
        )
    dense = tensor.detach().resolve_conj().resolve_neg().cpu().permute(dim_order).contiguous()
    flat: Raw = dense.reshape(-1).view(torch.uint8).numpy()
    return flat


@dataclass(slots=True)
class DataTable:
    """Tensors stored behind each other; equal ones share an entry.

    Attributes:
        alignment: of each entry.
        offsets: where each entry starts; entry 0 is a placeholder that means "no data".
        pieces: the bytes, with their offsets.
        size: bytes up to the end of the last piece.
    """

    alignment: int
    offsets: list[int] = field(default_factory=lambda: [0])
    pieces: list[tuple[int, Raw]] = field(default_factory=list)
    size: int = 0
    _by_memory: dict[tuple[object, ...], int] = field(default_factory=dict)
    _by_content: dict[tuple[int, bytes, bytes], list[tuple[int, Raw]]] = field(default_factory=dict)
    _versions: list[tuple[str, torch.Tensor, int]] = field(default_factory=list)

    def add(self, tensor: torch.Tensor, dim_order: tuple[int, ...], name: str) -> int:
        """The entry that holds a tensor's bytes."""
        memory = (
            tensor.data_ptr(),
            tensor.dtype,
            tuple(tensor.shape),
            tensor.stride(),
            dim_order,
        )
        entry = self._by_memory.get(memory)
        if entry is None:
            raw = raw_bytes(tensor, dim_order, name)
            if not tensor.is_inference():
                self._versions.append((name, tensor, tensor._version))
            entry = self._by_memory[memory] = self._entry_of(raw)
        return entry

    def add_bytes(self, data: bytes) -> int:
        """The entry that holds these bytes."""
        return self._entry_of(np.frombuffer(data, np.uint8))

    def find(self, data: bytes) -> int | None:
        """Where the same bytes lie, if some entry has them."""
        raw = np.frombuffer(data, np.uint8)
        key = (raw.nbytes, raw[:_SAMPLE].tobytes(), raw[-_SAMPLE:].tobytes())
        for entry, other in self._by_content.get(key, ()):
            if raw.nbytes and np.array_equal(raw, other):
                return self.offsets[entry]
        return None

    def check_unchanged(self) -> None:
        """Assert that no tensor was written since it was added.

        Raises:
            InvalidArgumentError: one was; its new content does not belong to the program.
        """
        for name, tensor, version in self._versions:
            if tensor._version != version:
                raise InvalidArgumentError(
                    f"tensor '{name}' was changed in place after the program was made; read"
                    " `.buffer` or save the program before training on, or lower the model again"
                )

    def _entry_of(self, raw: Raw) -> int:
        key = (raw.nbytes, raw[:_SAMPLE].tobytes(), raw[-_SAMPLE:].tobytes())
        candidates = self._by_content.setdefault(key, [])
        for entry, other in candidates:
            if np.array_equal(raw, other):
                return entry
        offset = -(-self.size // self.alignment) * self.alignment
        self.offsets.append(offset)
        self.pieces.append((offset, raw))
        self.size = offset + raw.nbytes
        candidates.append((len(self.offsets) - 1, raw))
        return len(self.offsets) - 1
