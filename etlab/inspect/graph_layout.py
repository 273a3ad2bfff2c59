"""Places for the boxes and ways for the edges of a graph, for its picture.

The same as widgets/graph/layout.js and its modules, number by number; a test compares both. The
live view lays out tens of thousands of nodes in the browser; this is for pictures of few boxes.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, field

from etlab.inspect.graph import HIDDEN, GraphData
from etlab.inspect.graph_routes import Routed, route
from etlab.inspect.graph_rows import Level, arrange_rows
from etlab.inspect.graph_wire import shape_text

NODE_HEIGHT = 34
GROUP_HEIGHT = 40
PADDING = 12
HEADER = 24
_LEAST_WIDTH, _MOST_WIDTH = 76, 188
_LETTER = 7
_GUTTER = 36


@dataclass(frozen=True, slots=True)
class Box:
    """A node, a closed group or an open one; items from `len(nodes)` on are groups."""

    item: int
    x: float
    y: float
    width: float
    height: float
    is_open: bool


@dataclass(frozen=True, slots=True)
class Way:
    """A piece of an edge: whose value it carries, where it ends, and its points."""

    maker: int
    target: int
    points: tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True)
class Scene:
    """What is drawn; open groups stand before what is in them."""

    width: float
    height: float
    boxes: tuple[Box, ...]
    ways: tuple[Way, ...]


@dataclass(slots=True)
class _Room:
    items: list[int]
    level: Level
    place: dict[int, int]
    ins: dict[int, int] = field(default_factory=dict)
    outs: dict[int, int] = field(default_factory=dict)
    makers: list[int] = field(default_factory=list)
    routed: Routed | None = None


class DrawnTree:
    """What of a graph is drawn: members of groups, and edges between drawn nodes."""

    def __init__(self, graph: GraphData) -> None:
        """Read a graph."""
        self.graph = graph
        self.count = len(graph.nodes)
        self.calls = [0] * len(graph.groups)
        first = [-1] * len(graph.groups)
        drawn = [node for node in graph.nodes if node.kind not in HIDDEN]
        for node in reversed(drawn):
            self.calls[node.group] += 1
            first[node.group] = node.id
        self.depth = [0] * len(graph.groups)
        for group in reversed(graph.groups[1:]):
            self.calls[group.parent] += self.calls[group.id]
            own, other = first[group.id], first[group.parent]
            if own >= 0 and (other < 0 or own < other):
                first[group.parent] = own
        for group in graph.groups[1:]:
            self.depth[group.id] = self.depth[group.parent] + 1
        self.members: list[list[int]] = [[] for _ in graph.groups]
        for node in drawn:
            self.members[node.group].append(node.id)
        for group in graph.groups[1:]:
            if self.calls[group.id]:
                self.members[group.parent].append(self.count + group.id)
        for members in self.members:
            members.sort(key=lambda item: (self._place(item, first), -item))
        self.edges = self._drawn_edges()

    def _place(self, item: int, first: list[int]) -> int:
        return item if item < self.count else first[item - self.count]

    def _drawn_edges(self) -> list[tuple[int, int]]:
        incoming: list[list[int]] = [[] for _ in range(self.count)]
        for source, target in self.graph.edges:
            incoming[target].append(source)
        behind: dict[int, dict[int, None]] = {}
        edges = []
        for node in self.graph.nodes:
            if node.kind in HIDDEN and node.kind != "pick":
                continue
            makers: dict[int, None] = {}
            for maker in incoming[node.id]:
                if maker in behind:
                    makers.update(behind[maker])
                elif self.graph.nodes[maker].kind not in HIDDEN:
                    makers[maker] = None
            if node.kind == "pick":
                behind[node.id] = makers
            else:
                edges += [(maker, node.id) for maker in makers]
        return edges

    def around(self, item: int) -> int:
        """Number of the group that an item stands in."""
        if item < self.count:
            return self.graph.nodes[item].group
        return self.graph.groups[item - self.count].parent

    def labels(self, item: int) -> tuple[str, str]:
        """Title and second line of an item."""
        if item >= self.count:
            group = self.graph.groups[item - self.count]
            type_ = group.type.replace(" x ", " × ", 1)  # noqa: RUF001  a multiplication sign
            calls = self.calls[group.id]
            ops = "1 op" if calls == 1 else f"{calls} ops"
            return group.label, f"{type_} · {ops}" if type_ else ops
        node = self.graph.nodes[item]
        operator = node.operator.rpartition(":")[2]
        title = node.name if node.kind in ("input", "output") else operator or node.name
        return title, shape_text(node.shape)

    def box_size(self, item: int) -> tuple[float, float]:
        """Width and height of a node or a closed group."""
        title, second = self.labels(item)
        is_group = item >= self.count
        letters = max(_utf16(title) * _LETTER, _utf16(second) * _LETTER * 0.94)
        width = math.ceil(letters + (36 if is_group else 22))
        return (
            min(_MOST_WIDTH, max(_LEAST_WIDTH, width)),
            GROUP_HEIGHT if is_group else NODE_HEIGHT,
        )


def _utf16(text: str) -> int:
    """Length as JavaScript counts it."""
    return len(text.encode("utf-16-le")) // 2


def lay_out(tree: DrawnTree, opened: Iterable[int]) -> Scene:
    """The scene with the given groups open; the whole graph, 0, always is."""
    opened = {0, *opened}
    rooms = _connect(tree, opened)
    for group in sorted(rooms, reverse=True):
        _arrange(tree, rooms, group)
    return _compose(tree, rooms)


def _connect(tree: DrawnTree, opened: set[int]) -> dict[int, _Room]:
    rooms: dict[int, _Room] = {}
    pending = [0]
    while pending:
        group = pending.pop()
        items = tree.members[group]
        place = {item: k for k, item in enumerate(items)}
        rooms[group] = _Room(items, Level(len(items)), place)
        inner = [item - tree.count for item in items if item >= tree.count]
        pending += [one for one in inner if one in opened]
    stand = _representatives(tree, opened)
    seen: set[tuple[int, int]] = set()
    total = tree.count + len(tree.graph.groups)

    def add(group: int, maker: int, start: int, end: int) -> None:
        key = (maker, total + group if end < 0 else end)
        if key not in seen:
            seen.add(key)
            _add_edge(rooms[group], maker, start, end)

    for source, target in tree.edges:
        maker, end = stand[source], stand[target]
        if maker == end:
            continue
        start = maker
        g, h = tree.around(start), tree.around(end)
        while g != h:
            if tree.depth[g] >= tree.depth[h]:
                add(g, maker, start, -1)
                start, g = tree.count + g, tree.graph.groups[g].parent
            else:
                add(h, maker, -1, end)
                end, h = tree.count + h, tree.graph.groups[h].parent
        add(g, maker, start, end)
    return rooms


def _representatives(tree: DrawnTree, opened: set[int]) -> list[int]:
    closed = [-1] * len(tree.graph.groups)
    for group in tree.graph.groups:
        outer = closed[group.parent] if group.id else -1
        closed[group.id] = outer if outer >= 0 or group.id in opened else tree.count + group.id
    return [node.id if closed[node.group] < 0 else closed[node.group] for node in tree.graph.nodes]


def _add_edge(room: _Room, maker: int, start: int, end: int) -> None:
    level = room.level
    if start < 0 and maker not in room.ins:
        room.ins[maker] = level.ins
        level.ins += 1
    if end < 0 and maker not in room.outs:
        room.outs[maker] = level.outs
        level.outs += 1
    room.makers.append(maker)
    level.start.append(-1 if start < 0 else room.place[start])
    level.end.append(-1 if end < 0 else room.place[end])


def _arrange(tree: DrawnTree, rooms: dict[int, _Room], group: int) -> None:
    room = rooms[group]
    level = room.level
    for item in room.items:
        inner = rooms.get(item - tree.count)
        routed = inner.routed if inner is not None else None
        size = (routed.width, routed.height) if routed is not None else tree.box_size(item)
        level.width.append(size[0])
        level.height.append(size[1])
    for e, maker in enumerate(room.makers):
        start, end = level.start[e], level.end[e]
        level.start_port.append(_port(tree, rooms, room, start, maker, is_in=False))
        level.end_port.append(_port(tree, rooms, room, end, maker, is_in=True))
        if start < 0:
            level.start[e] = level.count + room.ins[maker]
        if end < 0:
            level.end[e] = level.count + level.ins + room.outs[maker]
    routed = route(level, arrange_rows(level, _GUTTER), PADDING + 2)
    title = tree.box_size(tree.count + group)[0] if group else 0
    room.routed = _framed(room, routed, title=title, has_title=group > 0)


def _port(
    tree: DrawnTree, rooms: dict[int, _Room], room: _Room, place: int, maker: int, *, is_in: bool
) -> float:
    inner = rooms.get(room.items[place] - tree.count) if place >= 0 else None
    if inner is None or inner.routed is None:
        return math.nan
    number = (inner.ins if is_in else inner.outs).get(maker)
    if number is None:
        return math.nan
    return (inner.routed.in_x if is_in else inner.routed.out_x)[number]


def _framed(room: _Room, routed: Routed, *, title: float, has_title: bool) -> Routed:
    least = max(title - 2 * PADDING, 0)
    dx = PADDING + max(0, (least - routed.width) / 2)
    dy = HEADER if has_title else 0
    ways = []
    for e, way in enumerate(routed.points):
        is_in = room.level.start[e] >= room.level.count
        first, *rest = way
        ways.append(
            [
                (first[0] + dx, first[1] + (0 if is_in else dy)),
                *((x + dx, y + dy) for x, y in rest),
            ]
        )
    return Routed(
        max(routed.width, least) + 2 * PADDING,
        routed.height + dy,
        [x + dx for x in routed.x],
        [y + dy for y in routed.y],
        [x + dx for x in routed.in_x],
        [x + dx for x in routed.out_x],
        ways,
    )


def _compose(tree: DrawnTree, rooms: dict[int, _Room]) -> Scene:
    boxes: list[Box] = []
    ways: list[Way] = []
    pending = [(0, 0.0, 0.0)]
    while pending:
        group, left, top = pending.pop()
        room = rooms[group]
        routed = room.routed
        assert routed is not None
        for k, item in enumerate(room.items):
            x, y = left + routed.x[k], top + routed.y[k]
            is_open = item - tree.count in rooms and item >= tree.count
            boxes.append(Box(item, x, y, room.level.width[k], room.level.height[k], is_open))
            if is_open:
                pending.append((item - tree.count, x, y))
        for e, maker in enumerate(room.makers):
            end = room.level.end[e]
            target = room.items[end] if end < room.level.count else tree.count + group
            points = tuple((left + x, top + y) for x, y in routed.points[e])
            ways.append(Way(maker, target, points))
    whole = rooms[0].routed
    assert whole is not None
    return Scene(whole.width, whole.height, tuple(boxes), tuple(ways))
