"""The tree of a graph: modules, delegates, folded repeats, and sections where there is neither.

A frame is `(kind, name, type)`: the scope of a node is the tuple of frames around it, outermost
first. Everything here is linear in nodes and frames.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from etlab.inspect.graph import HIDDEN, GraphData, GraphGroup, GraphNode

Frame = tuple[str, str, str]
Scope = tuple[Frame, ...]

# A box that would hold more than this at once is cut into sections.
MOST_CHILDREN = 200
_SECTION = 100  # boxes that a section holds, about
_LEAST_REPEATS = 2


@dataclass(slots=True)
class _Box:
    """A group while the tree is built; `members` are boxes and node ids in order of execution."""

    kind: str
    name: str
    label: str
    type: str = ""
    members: list["_Box | int"] = field(default_factory=list)
    shape: int = 0  # number of its structure: equal for equal blocks


@dataclass(frozen=True, slots=True)
class RawGraph:
    """What readers find, before there is a tree.

    Attributes:
        nodes: in order; their `group` is not set yet.
        scopes: the frames around every node.
        edges: producer and consumer, in order of the consumers.
        root_type: class of the model.
        handles: fx nodes, for details.
        calls: name of a delegate or body to the id of the node that runs it.
    """

    nodes: Sequence[GraphNode]
    scopes: Sequence[Scope]
    edges: Sequence[tuple[int, int]]
    root_type: str = ""
    handles: Sequence[object] = ()
    calls: Mapping[str, int] = field(default_factory=dict)


def assemble(raw: RawGraph, *, title: str, stage: str = "") -> GraphData:
    """A graph with its tree; `title` names model and stage."""
    root = _Box("model", "", title, raw.root_type)
    _fill(root, raw.nodes, raw.scopes)
    _dissolve(root, raw.nodes)
    _fold(root, raw.nodes)
    _cut(root, raw.nodes, raw.edges)
    groups, group_of = _numbered(root, len(raw.nodes), raw.calls)
    nodes = tuple(
        node if not group_of[node.id] else replace(node, group=group_of[node.id])
        for node in raw.nodes
    )
    return GraphData(title, nodes, tuple(raw.edges), groups, stage, tuple(raw.handles))


def first_view(graph: GraphData, *, most: int = 60) -> list[str]:
    """Names of the groups that are open at first: level by level, while there are few boxes."""
    inside: list[list[int]] = [[] for _ in graph.groups]
    boxes = [0] * len(graph.groups)
    for node in graph.nodes:
        boxes[node.group] += node.kind not in HIDDEN
    for group in graph.groups[1:]:
        inside[group.parent].append(group.id)
        boxes[group.parent] += 1
    shown, opened, level = boxes[0], [], inside[0]
    while level:
        following = []
        for number in level:
            if graph.groups[number].kind != "fold" and shown + boxes[number] - 1 <= most:
                shown += boxes[number] - 1
                opened.append(graph.groups[number].name)
                following += inside[number]
        level = following
    return opened


def _fill(root: _Box, nodes: Sequence[GraphNode], scopes: Sequence[Scope]) -> None:
    boxes: dict[Scope, _Box] = {(): root}

    def box_of(scope: Scope) -> _Box:
        if scope not in boxes:
            outer, (kind, path, type_) = box_of(scope[:-1]), scope[-1]
            part = next((f[1] for f in reversed(scope[:-1]) if f[0] != "module"), "")
            part = part if kind == "module" else ""
            around = scope[-2][1] if len(scope) > 1 and scope[-2][0] == "module" else ""
            label = path.removeprefix(f"{around}.") if around else path
            name = f"{part}/{path}" if part else path
            boxes[scope] = _Box(kind, name, label, type_)
            outer.members.append(boxes[scope])
        return boxes[scope]

    for node, scope in zip(nodes, scopes, strict=True):
        box_of(scope).members.append(node.id)


def _dissolve(box: _Box, nodes: Sequence[GraphNode]) -> None:
    """A module around a single box gives it to the module around: a box in a box says nothing."""
    members: list[_Box | int] = []
    for member in box.members:
        if not isinstance(member, _Box):
            members.append(member)
            continue
        _dissolve(member, nodes)
        if member.kind == "module" and sum(_is_shown(m, nodes) for m in member.members) < 2:
            members += member.members
        else:
            members.append(member)
    box.members = members


def _is_shown(member: "_Box | int", nodes: Sequence[GraphNode]) -> bool:
    return isinstance(member, _Box) or nodes[member].kind not in HIDDEN


def _fold(root: _Box, nodes: Sequence[GraphNode]) -> None:
    """Put runs of equal blocks into a box of their own."""
    numbers: dict[object, int] = {}

    def number(key: object) -> int:
        return numbers.setdefault(key, len(numbers) + 1)

    def visit(box: _Box) -> None:
        keys: list[int] = []
        for member in box.members:
            if isinstance(member, _Box):
                visit(member)
                keys.append(member.shape)
            elif nodes[member].kind not in ("pick", "delegate"):
                node = nodes[member]  # weights count: blocks of other weights are other blocks
                keys.append(number((node.operator or node.kind, node.dtype, node.shape)))
        box.shape = number((box.kind, box.type, tuple(keys)))
        folded = _folded(box.members, nodes)
        shown = [member for member in folded if _is_shown(member, nodes)]
        only = shown[0] if len(shown) == 1 else None
        if isinstance(only, _Box) and only.kind == "fold":  # the box around it is fold enough
            box.type = only.type
        else:
            box.members = folded

    visit(root)


def _folded(members: list["_Box | int"], nodes: Sequence[GraphNode]) -> list["_Box | int"]:
    """The members with runs of equal modules in folds; weights between them do not end a run."""
    result: list[_Box | int] = []
    run: list[_Box] = []
    waiting: list[_Box | int] = []

    def close() -> None:
        if len(run) >= _LEAST_REPEATS:
            first, last = run[0], run[-1]
            label = f"{first.label} … {_tail(first.label, last.label)}"
            name = f"{first.name}…{last.name}"
            result.append(_Box("fold", name, label, f"{len(run)} x {first.type}", [*run]))
        else:
            result.extend(run)
        result.extend(waiting)
        run.clear()
        waiting.clear()

    for member in members:
        if isinstance(member, _Box) and member.kind == "module":
            if run and not _is_next(run[-1], member):
                close()
            run.append(member)
        elif not _is_shown(member, nodes):
            waiting.append(member)
        else:
            close()
            result.append(member)
    close()
    return result


def _is_next(one: _Box, other: _Box) -> bool:
    """Whether boxes are equal and numbered, as the members of a list are."""
    numbers = [box.label.rpartition(".")[2].partition("@")[0] for box in (one, other)]
    again = one.label.partition("@")[0] == other.label.partition("@")[0]
    return one.shape == other.shape and (all(text.isdecimal() for text in numbers) or again)


def _tail(first: str, last: str) -> str:
    """What of `last` is not in `first`, cut at dots.

    >>> _tail("blocks.1", "blocks.11")
    '11'
    """
    shared = 0
    left, right = first.split("."), last.split(".")
    while shared < min(len(left), len(right)) - 1 and left[shared] == right[shared]:
        shared += 1
    return ".".join(right[shared:])


def _cut(box: _Box, nodes: Sequence[GraphNode], edges: Sequence[tuple[int, int]]) -> None:
    """Cut boxes with too many members into sections, each where the fewest values cross."""
    for member in box.members:
        if isinstance(member, _Box):
            _cut(member, nodes, edges)
    shown = sum(_is_shown(m, nodes) for m in box.members)
    if shown <= MOST_CHILDREN:
        return
    width = max(_SECTION, -(-shown * 4 // (3 * MOST_CHILDREN)))
    crossing = _crossings(box, len(nodes), edges)
    sections: list[_Box | int] = []
    start = 0
    while start < len(box.members):
        end = _section_end(crossing, start, width, len(box.members))
        part = box.members[start:end]
        if len(part) > 1:
            label = f"{_name(part[0], nodes)} … {_name(part[-1], nodes)}"
            name = f"{box.name}#{len(sections) + 1}"
            part = [_Box("section", name, label, "", part)]
        sections += part
        start = end
    box.members = sections
    _cut(box, nodes, [])


def _section_end(crossing: list[int], start: int, width: int, count: int) -> int:
    if count - start <= width * 3 // 2:
        return count
    window = range(start + width // 2, start + width * 3 // 2)
    return min(window, key=lambda place: (crossing[place], abs(place - start - width)))


def _crossings(box: _Box, count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """How many values cross the border before every member."""
    place = [-1] * count
    for index, member in enumerate(box.members):
        for node in _node_ids(member):
            place[node] = index
    change = [0] * (len(box.members) + 1)
    for source, target in edges:
        first, last = place[source], place[target]
        if 0 <= first < last:
            change[first + 1] += 1
            change[last + 1 if last + 1 < len(change) else -1] -= 1
    total, result = 0, []
    for step in change:
        total += step
        result.append(total)
    return result


def _node_ids(member: "_Box | int") -> list[int]:
    if not isinstance(member, _Box):
        return [member]
    return [node for inner in member.members for node in _node_ids(inner)]


def _name(member: "_Box | int", nodes: Sequence[GraphNode]) -> str:
    return member.label if isinstance(member, _Box) else nodes[member].name


def _numbered(
    root: _Box, count: int, calls: Mapping[str, int]
) -> tuple[tuple[GraphGroup, ...], list[int]]:
    groups: list[GraphGroup] = []
    group_of = [0] * count
    taken: set[str] = set()
    pending: list[tuple[_Box, int]] = [(root, -1)]
    while pending:
        box, parent = pending.pop()
        name, again = box.name, 2
        while name in taken:
            name, again = f"{box.name} ({again})", again + 1
        taken.add(name)
        number = len(groups)
        call = calls.get(name, -1) if box.kind in ("delegate", "body") else -1
        groups.append(GraphGroup(number, parent, box.kind, name, box.label, box.type, call))
        inner = []
        for member in box.members:
            if isinstance(member, _Box):
                inner.append((member, number))
            else:
                group_of[member] = number
        pending += reversed(inner)
    return tuple(groups), group_of
