"""Rows of one kind: a tuple that shows itself as a table and becomes a DataFrame."""

import dataclasses
from collections.abc import Iterable
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from etlab import display

if TYPE_CHECKING:
    import pandas

Row = TypeVar("Row")


class Table(tuple[Row, ...], Generic[Row]):
    """Frozen dataclasses of one type with a title.

    The columns are the fields of the type. Numbers stand to the right.
    """

    title: str
    kind: type[Row]

    def __new__(cls, kind: type[Row], rows: Iterable[Row], *, title: str) -> "Table[Row]":
        """A table of `rows`, which may be none."""
        table = super().__new__(cls, rows)
        table.title, table.kind = title, kind
        return table

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return [field.name for field in dataclasses.fields(self.kind)]  # type: ignore[arg-type]

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a row."""
        import pandas

        rows = [{name: getattr(row, name) for name in self.columns} for row in self]
        return pandas.DataFrame(rows, columns=self.columns)

    def _cells(self) -> list[list[str]]:
        return [[_text(getattr(row, name)) for name in self.columns] for row in self]

    def __repr__(self) -> str:
        """One line."""
        return f"{self.title}: {len(self)} row{'' if len(self) == 1 else 's'}"

    def __str__(self) -> str:
        """The table as text."""
        if not self:
            return f"{self.title}: none"
        return f"{self.title}\n{display.text_table(self.columns, self._cells())}"

    def _repr_html_(self) -> str:
        numeric = [
            name
            for name in self.columns
            if self and {type(getattr(row, name)) for row in self} <= {int, float, NoneType}
        ]
        return display.table(self.columns, self._cells(), caption=self.title, numeric=numeric)


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, float):
        return f"{value:.4g}"
    if isinstance(value, tuple):
        return " x ".join(map(str, value)) or "scalar"
    return "" if value is None else str(value)
