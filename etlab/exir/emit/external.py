"""Constants that are stored outside of the program, in .ptd files by name."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import torch

from etlab.errors import LoweringError
from etlab.exir.emit.constants import DataTable
from etlab.exir.emit.file import FileImage, Segment
from etlab.exir.emit.flat_tensor import NamedTensor, TensorLayout, assemble_tensor_file
from etlab.exir.emit.scalar_type import scalar_type_of
from etlab.exir.specs import TensorSpec

_Stored = tuple[str, int, TensorLayout | None]  # tag, entry of its table, layout of a tensor


@dataclass(slots=True)
class ExternalData:
    """The external constants of all methods, by the tag that names their file.

    Equal bytes are stored once a file. A key means one tensor in one layout: a tensor that has
    the fully qualified name of another one, in another method or in another order of dimensions,
    gets a name made from it.

    Attributes:
        alignment: of each tensor in its file, in bytes.
    """

    alignment: int
    _tables: dict[str, DataTable] = field(default_factory=dict)
    _stored: dict[str, _Stored] = field(default_factory=dict)

    def add(self, tag: str, tensor: torch.Tensor, spec: TensorSpec, *, name: str, own: str) -> str:
        """The key of a constant.

        Args:
            tag: of its file.
            tensor: the values.
            spec: dtype, sizes and dim order that they are stored in.
            name: fully qualified.
            own: a name for this method's tensor, where `name` is another's.

        Raises:
            LoweringError: both names are others', or the tensor is to be stored in two files.
        """
        table = self._tables.setdefault(tag, DataTable(self.alignment))
        layout = TensorLayout(scalar_type_of(spec.dtype), tuple(spec.sizes), tuple(spec.dim_order))
        entry = table.add(tensor, tuple(spec.dim_order), name)
        order = "".join(map(str, spec.dim_order))
        for key in (name, own, f"{name}.{order}", f"{own}.{order}"):
            known = self._stored.setdefault(key, (tag, entry, layout))
            if known == (tag, entry, layout):
                return key
        raise LoweringError(
            f"external constant '{name}': another tensor has this name; let `external_constants`"
            " return one file for it in all methods, or None to keep it in the program"
        )

    def add_bytes(self, tag: str, key: str, data: bytes) -> None:
        """Store bytes that are no tensor, once.

        Raises:
            LoweringError: something else has this key.
        """
        if self.has_bytes(key, data):
            return
        entry = self._tables.setdefault(tag, DataTable(self.alignment)).add_bytes(data)
        if key in self._stored:
            raise LoweringError(
                f"different data is stored under the name '{key}'; a backend's names must tell"
                " their content apart"
            )
        self._stored[key] = (tag, entry, None)

    def has_key(self, key: str) -> bool:
        """Whether anything is stored under this key."""
        return key in self._stored

    def has_bytes(self, key: str, data: bytes) -> bool:
        """Whether these bytes are stored under this key."""
        tag, entry, layout = self._stored.get(key, ("", 0, None))
        if not entry or layout is not None:
            return False
        return bool(self._tables[tag].pieces[entry - 1][1].tobytes() == data)

    def check_unchanged(self) -> None:
        """Assert that no tensor was written since it was added; see `DataTable`."""
        for table in self._tables.values():
            table.check_unchanged()

    def images(self) -> Iterator[tuple[str, FileImage]]:
        """Every file by its tag, in the order of the tags; names stand in theirs."""
        for tag, table in sorted(self._tables.items()):
            segments = [Segment(raw.nbytes, [(0, raw)]) for _, raw in table.pieces]
            names = [
                NamedTensor(key, entry - 1, layout)
                for key, (owner, entry, layout) in sorted(self._stored.items())
                if owner == tag
            ]
            yield tag, assemble_tensor_file(names, segments, alignment=self.alignment)
