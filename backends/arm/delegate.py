"""The runtime part: TOSA graphs run on the reference model."""

from typing import Any

import numpy as np
import torch

from etlab.backends.arm.ethosu.runtime import EthosURuntime
from etlab.backends.arm.format.file import read_graph
from etlab.backends.arm.format.inside import DTYPES
from etlab.backends.arm.format.schema import Block
from etlab.backends.arm.reference_model import run
from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.runtime import NamedData, register_backend

_NAMES = {dtype: own for own, dtype in DTYPES.items()}


class TosaDelegate:
    """One TOSA graph."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._block = read_graph(data).main
        self._entries = {entry.name: entry for entry in self._block.tensors or ()}

    def execute(self, inputs: list[Any]) -> list[torch.Tensor]:
        """Run it."""
        names = self._block.inputs or ()
        if len(inputs) != len(names):
            raise InvalidArgumentError(
                f"the TOSA graph has {len(names)} inputs, it was called with {len(inputs)}"
            )
        given = [self._checked(*pair) for pair in zip(names, inputs, strict=True)]
        outputs = run(self._data, given)
        pairs = zip(_names(self._block), outputs, strict=True)
        return [self._as_tensor(name, array) for name, array in pairs]

    def _checked(self, name: str, tensor: Any) -> np.ndarray:
        """An input as the graph declares it."""
        entry = self._entries[name]
        if _NAMES.get(tensor.dtype) is not entry.type or tuple(tensor.shape) != entry.shape:
            raise InvalidArgumentError(
                f"input '{name}' of the TOSA graph is {entry.type.name} {list(entry.shape or ())}, "
                f"it got {tensor.dtype} {list(tensor.shape)}"
            )
        array: np.ndarray = tensor.contiguous().numpy()
        return array

    def _as_tensor(self, name: str, array: np.ndarray) -> torch.Tensor:
        entry = self._entries[name]
        dtype = DTYPES.get(entry.type)
        if dtype is None:
            raise InvalidArgumentError(
                f"output '{name}' of the TOSA graph is {entry.type.name}, which torch cannot hold"
            )
        plain = torch.from_numpy(np.ascontiguousarray(array))
        return plain.reshape(tuple(entry.shape or ())).view(dtype)


def _names(block: Block) -> tuple[str, ...]:
    return block.outputs or ()


class TosaRuntime:
    """Makes delegates from TOSA graphs."""

    def create(
        self, processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData
    ) -> TosaDelegate:
        """Read a graph; whether it can run here shows when it is to.

        Raises:
            InvalidProgramError: it is no TOSA graph, damaged, or asks for another format.
        """
        wanted = compile_specs.get("output_format", b"tosa").rstrip(b"\0")
        if wanted != b"tosa":
            raise InvalidProgramError(
                f"TOSABackend: the payload's format is {wanted!r}, only b'tosa' is known"
            )
        return TosaDelegate(processed)


register_backend("TOSABackend", TosaRuntime())
register_backend("EthosUBackend", EthosURuntime(TosaDelegate))
