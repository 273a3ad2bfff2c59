"""`Divergence`: the first operator that computes something else, with all that is known of it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.numerics.layers import Closeness, LayerRow
from etlab.numerics.metrics import metric

if TYPE_CHECKING:
    from etlab.numerics.tensor_pair import TensorPair

# (operator, path, local) -> both tensors
OpenTensors = Callable[[str, str, bool], "TensorPair"]


@dataclass(frozen=True, slots=True)
class Divergence:
    """The first operator that computes something else than the reference.

    Attributes:
        row: its line of the report.
        parameters: what it was called with, and scale and zero point of its result.
        reference: the path it was compared with.
    """

    row: LayerRow
    parameters: Mapping[str, str]
    reference: str
    _open: OpenTensors | None = field(default=None, repr=False, compare=False)

    @property
    def operator(self) -> str:
        """Its node in the exported program."""
        return self.row.operator

    @property
    def path(self) -> str:
        """The path it was found on."""
        return self.row.path

    def tensors(self, *, local: bool = True) -> "TensorPair":
        """What it computed and what the reference did.

        Args:
            local: from the reference's inputs; otherwise on the path's own values.

        Raises:
            InvalidArgumentError: the report was made without its run, or has no such values.
        """
        if self._open is None:
            raise InvalidArgumentError("this report was made without its run: use run.parity()")
        return self._open(self.operator, self.path, local and self.row.local is not None)

    def _lines(self) -> list[tuple[str, str]]:
        row = self.row
        where = f"{row.source}  {row.line}".strip()
        lines = [
            ("operator", f"{row.names} ({row.kind})"),
            ("module", row.module),
            ("source", where),
            ("computed by", f"{row.computed_by} in {row.part}" if row.part else row.computed_by),
            ("path", f"{row.path}, against {self.reference}"),
            ("alone", _said(row.local) or row.local_reason),
            ("in the model", _said(row.accumulated)),
        ]
        lines += list(self.parameters.items())
        return [(name, text) for name, text in lines if text]

    def __str__(self) -> str:
        """One line a fact."""
        lines = self._lines()
        width = max(len(name) for name, _ in lines)
        return "first divergence\n" + "\n".join(f"  {n.ljust(width)}  {t}" for n, t in lines)

    def __repr__(self) -> str:
        """One line."""
        row = self.row
        return f"Divergence({row.names} in {row.module or 'the model'}, {row.source}: {row.path})"

    def _repr_html_(self) -> str:
        return display.card("First divergence", display.table(["", "what"], self._lines()))


def _said(found: Closeness | None) -> str:
    if found is None:
        return ""
    parts = [f"{metric(n).label} {metric(n).format(v)}" for n, v in found.values.items()]
    if found.steps is not None:
        parts.append(str(found.steps))
    return ", ".join(parts)
