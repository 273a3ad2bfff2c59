"""Results of sweeps in one Parquet file: a row a configuration, a column an objective."""

import contextlib
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etlab.errors import AccessError, InvalidArgumentError
from etlab.sweeping.report import SweepRow

TEXTS = ("key", "model", "partitioner", "quantizer", "status", "reason")
FIXED = (*TEXTS, "seconds")


def default_file(name: str, content: str) -> Path:
    """Where results of a model are kept unless a file is named: in the user's cache folder."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    safe = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)
    return Path(base) / "etlab" / "sweeps" / f"{safe}-{content[:16]}.parquet"


def read_rows(path: Path) -> dict[str, tuple[str, SweepRow]]:
    """Model and row by key; nothing where there is no file.

    Raises:
        InvalidArgumentError: the file holds something else.
        AccessError: it cannot be read.
    """
    import pyarrow
    from pyarrow import parquet

    if not path.exists():
        return {}
    try:
        table = parquet.read_table(path)
    except pyarrow.ArrowInvalid as error:
        raise InvalidArgumentError(f"{_other(path)}: {error}") from error
    except OSError as error:
        raise AccessError(f"sweep: cannot read '{path}': {error}") from error
    names = set(table.column_names)
    kinds = {name: table.schema.field(name).type for name in names}
    texts = all(kinds.get(name) == pyarrow.string() for name in TEXTS)
    numbers = all(kinds[name] == pyarrow.float64() for name in names - set(TEXTS))
    if not texts or not numbers or "seconds" not in names:
        raise InvalidArgumentError(_other(path))
    return {row["key"]: (row["model"], _row(row)) for row in table.to_pylist()}


def write_rows(path: Path, model: str, rows: Sequence[SweepRow]) -> None:
    """Put rows into the file beside those of other keys, at once or not at all.

    Raises:
        AccessError: the place cannot be written.
        InvalidArgumentError: the file holds something else.
    """
    import pyarrow
    from pyarrow import parquet

    kept = {**read_rows(path), **{row.key: (model, row) for row in rows}}
    objectives = sorted({name for _, row in kept.values() for name in row.values})
    fields = [pyarrow.field(name, pyarrow.string()) for name in TEXTS]
    fields += [pyarrow.field(name, pyarrow.float64()) for name in ("seconds", *objectives)]
    table = pyarrow.Table.from_pylist(
        [
            {**{name: getattr(row, name, name_of) for name in FIXED}, **row.values}
            for name_of, row in kept.values()
        ],
        schema=pyarrow.schema(fields),
    )
    temporary = ""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        os.close(handle)
        parquet.write_table(table, temporary)
        Path(temporary).replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            Path(temporary).unlink()
        raise AccessError(f"sweep: cannot write '{path}': {error}") from error


def _row(cells: dict[str, Any]) -> SweepRow:
    values = {name: cells[name] for name in cells if name not in FIXED}
    fixed = {name: cells[name] for name in FIXED if name != "model"}
    return SweepRow(**fixed, values=values, is_cached=True)


def _other(path: Path) -> str:
    return f"sweep: '{path}' holds no results of a sweep: name another file, or delete it"
