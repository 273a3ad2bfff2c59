"""A result as JSON: its facts and its table, with the numbers of its DataFrame."""

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import torch

# Facts that are properties, by class; simple fields are facts anyway.
_PROPERTIES = {
    "ExportRun": ("paths",),
    "ProgramFile": ("methods",),
    "MemoryReport": ("peak", "lower_bound", "fragmentation", "peak_step"),
    "MemoryUse": ("total",),
    "DelegationReport": ("coverage", "delegated_calls", "shares"),
    "SizeReport": ("by_kind", "by_module"),
    "ProfileReport": ("runs", "overhead"),
    "GraphData": ("operators",),
    "GraphComparison": ("counts",),
    "ProgramDiff": ("exit_code",),
    "Sweep": ("is_complete",),
}
_PRIVATE = {"file", "handles", "data", "key"}  # paths of a machine, bytes, objects


def numbers_of(subject: Any) -> dict[str, Any]:
    """Kind, one line of text, facts and the table of a result; the same for the same result."""
    found: dict[str, Any] = {"kind": type(subject).__name__, "text": repr(subject)}
    facts = _facts(subject)
    if facts:
        found["facts"] = facts
    if hasattr(subject, "to_dataframe"):
        found["table"] = table_of(subject.to_dataframe())
    return found


def table_of(frame: Any) -> dict[str, Any]:
    """Columns and rows of a DataFrame."""
    columns = [str(name) for name in frame.columns]
    rows = [[plain(value) for value in row] for row in frame.itertuples(index=False, name=None)]
    return {"columns": columns, "rows": rows}


def plain(value: Any) -> Any:
    """A value as JSON has it; infinities and NaN by name, for JSON has no such numbers.

    >>> plain((1, float("inf"), None, {"a": 2.5}))
    [1, 'Infinity', None, {'a': 2.5}]
    """
    if value is None or isinstance(value, bool | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | frozenset | set):
        items = sorted(value) if isinstance(value, frozenset | set) else value
        return [plain(inner) for inner in items]
    if isinstance(value, torch.dtype):
        return str(value).removeprefix("torch.")
    if hasattr(value, "item") and not hasattr(value, "shape"):
        value = value.item()
    if hasattr(value, "item") and getattr(value, "shape", None) == ():
        value = value.item()
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        if math.isfinite(value):
            return value
        return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
    return None if type(value).__name__ == "NAType" else str(value)


def _facts(subject: Any) -> dict[str, Any]:
    names = [*_PROPERTIES.get(type(subject).__name__, ())]
    if dataclasses.is_dataclass(subject):
        names = [field.name for field in dataclasses.fields(subject)] + names
    found = {}
    for name in names:
        if name in _PRIVATE:
            continue
        value = getattr(subject, name)
        if _is_simple(value):
            found[name] = plain(value)
    return found


def _is_simple(value: Any) -> bool:
    """A number, a text, or some of these: no objects and no tensors."""
    if isinstance(value, Mapping):
        return all(map(_is_simple, value.values()))
    if isinstance(value, list | tuple):
        return type(value) in (list, tuple) and all(map(_is_simple, value))
    return value is None or isinstance(value, bool | int | float | str)
