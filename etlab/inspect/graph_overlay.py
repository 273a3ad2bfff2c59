"""Numbers or classes for the nodes of a graph: what a view colours by."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from etlab.display import CATEGORY_COLOURS
from etlab.errors import InvalidArgumentError
from etlab.inspect.graph import GraphData

COMBINATIONS = ("sum", "min", "max", "mean")
SCALES = ("linear", "log")
MAPS = ("magnitude", "signed")
_NO_CLASS = 255


@dataclass(frozen=True, slots=True)
class Overlay:
    """One value a node.

    Attributes:
        name: what the legend says.
        kind: "number" or "category".
        values: float32 with NaN where there is none, or the class (uint8, 255: none), by node id.
        classes: of a category.
        unit: of a number; "s" and "B" are written with their prefixes.
        combine: how a closed group answers for its nodes.
        scale: of the colours.
        map: "magnitude" or, around zero, "signed".
        unmatched: keys that name no node.
    """

    name: str
    kind: str
    values: np.ndarray
    classes: tuple[str, ...] = ()
    unit: str = ""
    combine: str = "sum"
    scale: str = "linear"
    map: str = "magnitude"
    unmatched: tuple[str, ...] = ()

    def to_wire(self) -> dict[str, Any]:
        """What the view is sent."""
        colours = [CATEGORY_COLOURS[k % len(CATEGORY_COLOURS)] for k in range(len(self.classes))]
        return {
            "kind": self.kind,
            "values": self.values.tobytes(),
            "classes": list(self.classes),
            "colours": colours,
            "unit": self.unit,
            "combine": self.combine,
            "scale": self.scale,
            "map": self.map,
        }


def make_overlay(
    graph: GraphData,
    values: Any,
    *,
    name: str,
    unit: str = "",
    combine: str = "sum",
    scale: str = "linear",
    map: str = "magnitude",
) -> Overlay:
    """An overlay from values by node.

    Args:
        graph: whose nodes they belong to.
        values: a pandas Series or a mapping; the keys are names of nodes, of delegates, or of nodes
            of the exported graph, which colour all that was made from them.
        name: what the legend says.
        unit: of numbers.
        combine: how a closed group answers for its nodes: "sum", "min", "max" or "mean".
        scale: "linear" or "log".
        map: "magnitude", or "signed" for numbers around zero.

    Raises:
        InvalidArgumentError: no key names a node, or an unknown option.
    """
    for option, known in ((combine, COMBINATIONS), (scale, SCALES), (map, MAPS)):
        if option not in known:
            raise InvalidArgumentError(f"overlay: {option!r} is none of {', '.join(known)}")
    given: dict[str, Any] = {str(key): value for key, value in _items(values)}
    by_node: dict[int, Any] = {}
    used: set[str] = set()
    parts = {group.call: group.name for group in graph.groups if group.call >= 0}
    for node in graph.nodes:
        names = (node.name, parts[node.id]) if node.id in parts else (node.name, *node.origins)
        key = next((one for one in names if one in given), None)
        if key is not None:
            by_node[node.id] = given[key]
            used.add(key)
    if not used:
        raise InvalidArgumentError(
            f"overlay {name!r}: none of its {len(given)} keys names a node of {graph.title}; keys"
            " are node names, as in graph.to_dataframe().name"
        )
    unmatched = tuple(key for key in given if key not in used)
    if all(isinstance(value, str) for value in by_node.values()):
        classes = tuple(sorted(set(by_node.values())))
        codes = np.full(len(graph.nodes), _NO_CLASS, np.uint8)
        places = {one: min(place, _NO_CLASS - 1) for place, one in enumerate(classes)}
        codes[list(by_node)] = [places[value] for value in by_node.values()]
        return Overlay(name, "category", codes, classes[:_NO_CLASS], unmatched=unmatched)
    numbers = np.full(len(graph.nodes), np.nan, np.float32)
    numbers[list(by_node)] = [_number(value, name) for value in by_node.values()]
    return Overlay(
        name,
        "number",
        numbers,
        unit=unit,
        combine=combine,
        scale=scale,
        map=map,
        unmatched=unmatched,
    )


def _items(values: Any) -> Any:
    if isinstance(values, Mapping) or hasattr(values, "items"):
        return values.items()
    raise InvalidArgumentError(
        f"overlay: values must be a pandas Series or a mapping by node, not {type(values).__name__}"
    )


def _number(value: Any, name: str) -> float:
    if value is None:
        return float("nan")
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgumentError(
            f"overlay {name!r}: its values must be all numbers or all strings; got {value!r}"
        ) from None
