"""`TensorDataFile`: a .ptd file, ours or the official exporter's."""

import hashlib
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING

from etlab import display
from etlab.exir.emit.flat_tensor import TensorFileData, read_tensor_file
from etlab.exir.emit.scalar_type import DTYPES
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class StoredTensor:
    """One name.

    Attributes:
        key: the name that programs ask for.
        dtype: its element type; empty for bytes that are no tensor.
        shape: its sizes; None likewise.
        nbytes: that it has in the file; 0 when another name has stood for the same bytes.
        digest: of its content: equal ones hold the same.
    """

    key: str
    dtype: str
    shape: tuple[int, ...] | None
    nbytes: int
    digest: str


@dataclass(frozen=True, eq=False)
class TensorDataFile:
    """Tensors by name, outside of the programs that use them.

    Attributes:
        data: the whole file.
        name: file name for titles.
    """

    data: bytes = field(repr=False)
    name: str = "tensors.ptd"

    @cached_property
    def content(self) -> TensorFileData:
        """The file as dataclasses, every offset checked.

        Raises:
            InvalidProgramError: the file is damaged, foreign or too new.
        """
        return read_tensor_file(self.data)

    @cached_property
    def tensors(self) -> Table[StoredTensor]:
        """What the file holds, in its order."""
        rows = []
        seen: set[int] = set()
        for named in self.content.flat_tensor.named_data or ():
            segment = self.content.segments[named.segment_index]
            layout = named.tensor_layout
            dtype = DTYPES.get(layout.scalar_type) if layout is not None else None
            rows.append(
                StoredTensor(
                    named.key or "",
                    str(dtype).removeprefix("torch.") if dtype is not None else "",
                    tuple(layout.sizes or ()) if layout is not None else None,
                    0 if named.segment_index in seen else len(segment),
                    hashlib.blake2b(segment, digest_size=8).hexdigest(),
                )
            )
            seen.add(named.segment_index)
        return Table(StoredTensor, rows, title=f"tensors of {self.name}")

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a name."""
        return self.tensors.to_dataframe()

    def __repr__(self) -> str:
        """One line."""
        size = display.format_bytes(len(self.data))
        return f"TensorDataFile({self.name}, {len(self.tensors)} tensors, {size})"

    def __str__(self) -> str:
        """The tensors as text."""
        return str(self.tensors)

    def _repr_html_(self) -> str:
        size = display.format_bytes(len(self.data))
        return display.card(f"{self.name}, {size}", self.tensors._repr_html_(), subtitle="a .ptd")
