"""A graph as PNG, drawn by matplotlib: what `graph_picture` writes as SVG."""

import io
import math
from collections.abc import Iterable
from typing import TYPE_CHECKING

from etlab.inspect.graph import GraphData
from etlab.inspect.graph_layout import HEADER, Box, DrawnTree
from etlab.inspect.graph_picture import cut, drawn

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_MOST_PIXELS = 16e6
_POINTS = 0.72  # of text a unit: 100 dots an inch, one dot a unit


def graph_png(graph: GraphData, opened: Iterable[str] | None = None, *, scale: float = 2) -> bytes:
    """The picture, the same for the same graph; see `GraphData.to_png`.

    Raises:
        NotFoundError: there is no such group.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.collections import LineCollection
    from matplotlib.figure import Figure

    tree, scene, colours = drawn(graph, opened)
    width, height = max(scene.width, 1), max(scene.height, 1)
    dots = 100 * max(min(scale, math.sqrt(_MOST_PIXELS / (width * height))), 0.01)
    figure = Figure(figsize=(width / 100, height / 100), dpi=dots, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, width)
    axes.set_ylim(height, 0)
    axes.axis("off")
    for box in scene.boxes:
        if box.is_open:
            _hull(axes, tree, box, colours.get(box.item, ("", ""))[1])
    lines = [way.points for way in scene.ways]
    axes.add_collection(LineCollection(lines, colors="#8d96a0", linewidths=0.8, zorder=2))
    for (x, y), *_ in (way.points[::-1] for way in scene.ways):
        axes.fill([x, x - 3.4, x + 3.4], [y, y - 6, y - 6], color="#8d96a0", linewidth=0, zorder=2)
    for box in scene.boxes:
        if not box.is_open:
            _box(axes, tree, box, colours.get(box.item, ("", ""))[1])
    target = io.BytesIO()
    figure.savefig(target, format="png", dpi=dots, metadata={"Software": None})
    return target.getvalue()


def _rectangle(axes: "Axes", box: Box, *, fill: str, edge: str, alpha: float, zorder: int) -> None:
    from matplotlib.colors import to_rgba
    from matplotlib.patches import Rectangle

    corner = (box.x, box.y)
    face = to_rgba(fill, alpha)
    patch = Rectangle(corner, box.width, box.height, fc=face, ec=edge, lw=0.8, zorder=zorder)
    axes.add_patch(patch)


def _hull(axes: "Axes", tree: DrawnTree, box: Box, colour: str) -> None:
    is_delegate = tree.graph.groups[box.item - tree.count].kind == "delegate"
    edge = colour if is_delegate and colour else "#b4bcc8"
    _rectangle(axes, box, fill="#6e7d91", edge=edge, alpha=0.07, zorder=1)
    title = cut(" ".join(filter(None, tree.labels(box.item))), (box.width - 20) * 0.85)
    _write(axes, box.x + 10, box.y + HEADER / 2 + 2, title, 11.5, weight="bold")


def _box(axes: "Axes", tree: DrawnTree, box: Box, colour: str) -> None:
    title, second = tree.labels(box.item)
    _rectangle(axes, box, fill="#ffffff", edge="#ffffff", alpha=1, zorder=3)
    fill, edge = (colour, colour) if colour else ("#f4f5f7", "#a9b0b8")
    _rectangle(axes, box, fill=fill, edge=edge, alpha=0.2 if colour else 1, zorder=4)
    middle, room = box.y + box.height / 2, box.width - 16
    weight = "bold" if box.item >= tree.count else "normal"
    first = middle - 7 if second else middle
    _write(axes, box.x + 9, first, cut(title, room), 11.5, weight=weight)
    if second:
        _write(axes, box.x + 9, middle + 8, cut(second, room), 10, colour="#57606a")


def _write(
    axes: "Axes", x: float, y: float, text: str, size: float, *, weight: str = "normal",
    colour: str = "#1f2328",
) -> None:  # fmt: skip
    axes.text(
        x, y, text, fontsize=size * _POINTS, color=colour, weight=weight, va="center", zorder=5,
        parse_math=False,
    )  # fmt: skip
