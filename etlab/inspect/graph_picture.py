"""A graph as an SVG: the picture that stays in a saved notebook."""

from collections.abc import Iterable

from etlab.display import CATEGORY_COLOURS, backend_colours, escape
from etlab.errors import NotFoundError
from etlab.inspect.graph import GraphData
from etlab.inspect.graph_layout import HEADER, Box, DrawnTree, Scene, lay_out
from etlab.inspect.graph_tree import first_view

_STYLE = (
    "text{font:11.5px system-ui,'Segoe UI',Roboto,Arial,sans-serif;fill:#1f2328}"
    ".s{font-size:10px;fill:#57606a}.b{font-weight:600}"
    ".e{fill:none;stroke:#8d96a0;stroke-width:1.1}.a{fill:#8d96a0}"
    ".h{fill:#6e7d91;fill-opacity:.07;stroke:#6e7d91;stroke-opacity:.5}"
)
_LETTER = 6.6  # wider than most: texts are cut, not written over borders


def graph_svg(graph: GraphData, opened: Iterable[str] | None = None) -> str:
    """The picture, the same for the same graph.

    Args:
        graph: what to draw.
        opened: names of the groups that are open; by default as many as read well.

    Raises:
        NotFoundError: there is no such group.
    """
    tree, scene, colours = drawn(graph, opened)
    parts = [_hull(tree, box, colours) for box in scene.boxes if box.is_open]
    parts += _edges(scene)
    parts += [_box(tree, box, colours) for box in scene.boxes if not box.is_open]
    legend = sorted(set(colours.values()))
    bottom = scene.height + (24 if legend else 0)
    x = 12.0
    for name, colour in legend:
        y = scene.height + 6
        parts.append(f'<rect x="{x:g}" y="{y:g}" width="12" height="12" rx="3" fill="{colour}"/>')
        parts.append(f'<text x="{x + 17:g}" y="{y + 10:g}">{escape(name)}</text>')
        x += 34 + len(name) * 7
    width = max(scene.width, x if legend else 0)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{bottom:.0f}" '
        f'viewBox="0 0 {width:.0f} {bottom:.0f}" role="img">'
        f"<title>Graph of {escape(graph.title)}</title><style>{_STYLE}</style>"
        f'<rect width="100%" height="100%" fill="#fff"/>{"".join(parts)}</svg>'
    )


def drawn(
    graph: GraphData, opened: Iterable[str] | None
) -> tuple[DrawnTree, Scene, dict[int, tuple[str, str]]]:
    """What is in the picture, where it is, and what it stands for: name and colour by item.

    Raises:
        NotFoundError: there is no such group.
    """
    numbers = {group.name: group.id for group in graph.groups}
    names = first_view(graph) if opened is None else list(opened)
    if unknown := [name for name in names if name not in numbers]:
        raise NotFoundError(f"{graph.title}: no group is called {', '.join(map(repr, unknown))}")
    tree = DrawnTree(graph)
    return tree, lay_out(tree, (numbers[name] for name in names)), _colours(tree)


def _colours(tree: DrawnTree) -> dict[int, tuple[str, str]]:
    """Name and colour by item: of the backend, or of the operator where there is none."""
    nodes = tree.graph.nodes
    drawn = [node for node in nodes if node.kind in ("call", "module")]
    if any(node.backend for node in drawn):
        own = {node.id: node.backend for node in drawn if node.backend}
        colour_of = backend_colours(own.values())
    else:
        own = {node.id: node.operator for node in drawn}
        counts: dict[str, int] = {}
        for name in own.values():
            counts[name] = counts.get(name, 0) + 1
        ranked = sorted(counts, key=lambda name: (-counts[name], name))
        most = len(CATEGORY_COLOURS) - 1
        colour_of = dict(zip(ranked[:most], CATEGORY_COLOURS, strict=False))
        own = {node: name if name in colour_of else "other" for node, name in own.items()}
        colour_of["other"] = CATEGORY_COLOURS[most]
    votes: list[dict[str, int]] = [{} for _ in tree.graph.groups]
    for node, name in own.items():
        box = votes[nodes[node].group]
        box[name] = box.get(name, 0) + 1
    result = {node: (name, colour_of[name]) for node, name in own.items()}
    for group in reversed(tree.graph.groups):
        for name, count in votes[group.id].items() if group.id else ():
            votes[group.parent][name] = votes[group.parent].get(name, 0) + count
        if votes[group.id]:
            name = min(votes[group.id], key=lambda one: (-votes[group.id][one], one))
            result[tree.count + group.id] = (name, colour_of[name])
    return result


def _hull(tree: DrawnTree, box: Box, colours: dict[int, tuple[str, str]]) -> str:
    title, second = tree.labels(box.item)
    is_delegate = tree.graph.groups[box.item - tree.count].kind == "delegate"
    border = f' style="stroke:{colours[box.item][1]};stroke-opacity:1"' if is_delegate else ""
    dash = ' stroke-dasharray="7 4"' if is_delegate else ""
    shown = cut(title, box.width - 20)
    rest = box.width - 36 - len(shown) * 7.8
    middle = box.y + HEADER / 2 + 6
    text = f'<text class="b" x="{box.x + 10:.1f}" y="{middle:.1f}">{escape(shown)}</text>'
    if rest > 40:
        left = box.x + 18 + len(shown) * 7.8
        text += (
            f'<text class="s" x="{left:.1f}" y="{middle:.1f}">{escape(cut(second, rest))}</text>'
        )
    return f'<rect class="h" {_place(box, 8)}{border}{dash}/>{text}'


def _box(tree: DrawnTree, box: Box, colours: dict[int, tuple[str, str]]) -> str:
    title, second = tree.labels(box.item)
    is_group = box.item >= tree.count
    colour = colours.get(box.item, ("", ""))[1]
    fill = f'fill="{colour}" fill-opacity=".2"' if colour else 'fill="#f4f5f7"'
    parts = []
    if is_group and " x " in tree.graph.groups[box.item - tree.count].type:
        for shift in (6, 3):
            under = Box(box.item, box.x + shift, box.y + shift, box.width, box.height, False)
            parts.append(f'<rect {_place(under, 6)} fill="#fff" stroke="{colour or "#a9b0b8"}"/>')
    parts.append(f'<rect {_place(box, 6 if is_group else 4)} fill="#fff"/>')
    parts.append(
        f'<rect {_place(box, 6 if is_group else 4)} {fill} stroke="{colour or "#a9b0b8"}"/>'
    )
    if colour:
        parts.append(
            f'<rect x="{box.x + 0.5:.1f}" y="{box.y + 5:.1f}" width="3" '
            f'height="{box.height - 10:.1f}" fill="{colour}"/>'
        )
    middle = box.y + box.height / 2
    room = box.width - 16
    weight = ' class="b"' if is_group else ""
    first = middle - 3 if second else middle + 4
    parts.append(
        f'<text{weight} x="{box.x + 9:.1f}" y="{first:.1f}">{escape(cut(title, room))}</text>'
    )
    if second:
        parts.append(
            f'<text class="s" x="{box.x + 9:.1f}" y="{middle + 11:.1f}">'
            f"{escape(cut(second, room))}</text>"
        )
    return "".join(parts)


def _place(box: Box, radius: int) -> str:
    return (
        f'x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" height="{box.height:.1f}" '
        f'rx="{radius}"'
    )


def cut(text: str, room: float) -> str:
    """A text that fits into a room of so many units."""
    most = max(1, int(room / _LETTER))
    return text if len(text) <= most else f"{text[: most - 1]}…"


def _edges(scene: Scene) -> list[str]:
    lines, heads = [], []
    for way in scene.ways:
        (x0, y0), (x1, y1) = way.points[0], way.points[-1]
        if len(way.points) == 2 and abs(x0 - x1) >= 1:
            half = (y0 + y1) / 2
            curve = f"C{x0:.1f} {half:.1f} {x1:.1f} {half:.1f} {x1:.1f} {y1:.1f}"
            lines.append(f"M{x0:.1f} {y0:.1f}{curve}")
        else:
            steps = "L".join(f"{x:.1f} {y:.1f}" for x, y in way.points)
            lines.append(f"M{steps}")
        heads.append(f"M{x1:.1f} {y1:.1f}l-3.4 -6h6.8z")
    if not lines:
        return []
    return [f'<path class="e" d="{"".join(lines)}"/>', f'<path class="a" d="{"".join(heads)}"/>']
