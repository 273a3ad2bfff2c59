"""What is said of a node when it is chosen: its arguments, why it was not delegated, its source."""

import linecache
from typing import Any

from torch import fx

from etlab.errors import NotFoundError
from etlab.exir.graph import REASONS
from etlab.exir.partition.reasons import split_reason
from etlab.inspect.graph import GraphData

_AROUND = 400  # lines of a file before and after the one that is asked for
_LONGEST = 400


def node_details(graph: GraphData, name: str) -> list[tuple[str, str]]:
    """Label and text of what is known beside the columns of the table.

    Raises:
        NotFoundError: there is no such node.
    """
    node = graph.node(name)
    rows = []
    handle = graph.handles[node.id] if graph.handles else None
    if isinstance(handle, fx.Node):
        arguments = [_text(argument) for argument in handle.args]
        arguments += [f"{key}={_text(value)}" for key, value in handle.kwargs.items()]
        rows.append(("arguments", _short(", ".join(arguments))))
        rows.append(("used by", _short(", ".join(user.name for user in handle.users))))
        for who, said in handle.meta.get(REASONS, {}).items():
            reason, help_text = split_reason(str(said))
            rows.append((f"left by {who}", f"{reason}: {help_text}" if help_text else reason))
    origins = [origin for origin in node.origins if origin != node.name]
    rows.append(("from", _short(", ".join(origins))))
    return [(label, text) for label, text in rows if text]


def source_text(graph: GraphData, source: str) -> dict[str, Any]:
    """The file around a `file.py:12` of the graph.

    Returns:
        `name` of the file, `first` line number, `lines`, and `problem` in words without them.

    Raises:
        NotFoundError: no node of the graph was made there.
    """
    file = next((node.file for node in graph.nodes if node.source == source), "")
    if not file:
        raise NotFoundError(f"{graph.title}: no node was made at {source!r}")
    name, _, line = source.rpartition(":")
    lines = linecache.getlines(file)  # knows the cells of notebooks, too
    first = max(1, int(line) - _AROUND)
    shown = [text.rstrip("\n") for text in lines[first - 1 : int(line) + _AROUND]]
    problem = "" if shown else f"{name} can't be read here any more."
    return {"name": name, "first": first, "lines": shown, "problem": problem}


def _text(value: Any) -> str:
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_text, value))}]"
    return str(value)


def _short(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
