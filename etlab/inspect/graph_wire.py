"""A graph as bytes for the browser: columns of numbers and tables of strings.

    "ETG1" | length of the head | head (JSON) | sections, each at a multiple of 8

The head lists the sections as `[name, type, offset, length]`: "text" is strings joined by line
breaks (length in bytes), the others are arrays (u1, u2, u4, i4, f4, f8; length in elements). The
reader is widgets/graph/wire.js.
"""

import json
import struct
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from etlab.inspect.graph import GraphData

_MAGIC = b"ETG1"
KINDS = ("input", "state", "call", "delegate", "module", "pick", "output")
GROUP_KINDS = ("model", "module", "delegate", "body", "fold", "section")


def encode_graph(graph: GraphData) -> bytes:
    """The bytes of a graph, about 50 a node."""
    nodes, groups = graph.nodes, graph.groups
    count = len(nodes)
    sections = _Sections()
    sections.text("names", (node.name for node in nodes))
    sections.table("operators", "operator", [node.operator for node in nodes])
    sections.table("dtypes", "dtype", [node.dtype for node in nodes])
    sections.table("shapes", "shape", [node.shape for node in nodes], shape_text)
    sections.table("sources", "source", [node.source for node in nodes])
    sections.table("backends", "backend", [node.backend for node in nodes])
    sections.table("modules", "module", [node.module for node in nodes])
    sections.array("kind", np.array([KINDS.index(node.kind) for node in nodes], np.uint8))
    sizes = [-1 if node.nbytes is None else node.nbytes for node in nodes]
    sections.array("bytes", np.array(sizes, np.float64))
    sections.array("group", np.array([node.group for node in nodes], np.uint32))
    edges = np.array(graph.edges, np.int64).reshape(-1, 2)
    edges = edges[np.argsort(edges[:, 1], kind="stable")]
    sections.array("indegree", np.bincount(edges[:, 1], minlength=count).astype(np.uint32))
    sections.array("edges", edges[:, 0].astype(np.uint32))
    sections.array("groupParent", np.array([group.parent for group in groups], np.int32))
    kinds = [GROUP_KINDS.index(group.kind) for group in groups]
    sections.array("groupKind", np.array(kinds, np.uint8))
    sections.array("groupCall", np.array([group.call for group in groups], np.int32))
    sections.text("groupNames", (group.name for group in groups))
    sections.text("groupLabels", (group.label for group in groups))
    sections.text("groupTypes", (group.type for group in groups))
    return sections.joined({"title": graph.title, "stage": graph.stage, "count": count})


def shape_text(shape: tuple[int | str, ...]) -> str:
    """A shape as it stands on a box."""
    return "×".join(map(str, shape))  # noqa: RUF001  the multiplication sign is meant


class _Sections:
    def __init__(self) -> None:
        self._entries: list[list[str | int]] = []
        self._chunks: list[bytes] = []
        self._size = 0

    def text(self, name: str, strings: Iterable[str]) -> None:
        """Strings without line breaks."""
        data = "\n".join(one.replace("\n", " ") for one in strings).encode()
        self._add(name, "text", len(data), data)

    def array(self, name: str, values: np.ndarray) -> None:
        """Numbers of a type that the head can name."""
        little = values.astype(values.dtype.newbyteorder("<"))
        self._add(name, little.dtype.str[1:], len(values), little.tobytes())

    def table(
        self, table: str, column: str, values: Sequence[Any], text: Callable[[Any], str] = str
    ) -> None:
        """A column of numbers, and the table of the different strings they stand for."""
        places: dict[Any, int] = {}
        numbers = [places.setdefault(value, len(places)) for value in values]
        self.text(table, [text(value) for value in places] or [""])
        width = np.uint8 if len(places) <= 256 else np.uint16 if len(places) <= 65536 else np.uint32
        self.array(column, np.array(numbers, width))

    def joined(self, head: dict[str, object]) -> bytes:
        """All of it."""
        sections: list[list[str | int]] = []
        # The offsets stand in the head, whose length moves them: room for the largest is kept.
        room = len(json.dumps({**head, "sections": self._entries}).encode()) + 24 * len(
            self._entries
        )
        start = -(-(8 + room) // 8) * 8
        offset = start
        for (name, kind, length), chunk in zip(self._entries, self._chunks, strict=True):
            sections.append([name, kind, offset, length])
            offset += len(chunk)
        text = json.dumps({**head, "sections": sections}).encode().ljust(start - 8)
        return b"".join([_MAGIC, struct.pack("<I", len(text)), text, *self._chunks])

    def _add(self, name: str, kind: str, length: int, data: bytes) -> None:
        self._entries.append([name, kind, length])
        self._chunks.append(data + b"\0" * (-len(data) % 8))
