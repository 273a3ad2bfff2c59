"""What a program's inputs may be: sizes of dynamic inputs, written as JSON beside the program.

The file format holds upper bounds only. Lower bounds, equal sizes and names of dimensions stand in
the named data entry `etlab.inputs`, which other runtimes ignore. It tells of the inputs that have a
dynamic dimension, and of every dimension of these:

    {"version": 1, "methods": {"forward": [{"input": 0, "name": "x", "dimensions": [
        {"dimension": 0, "min": 3, "max": 3},
        {"dimension": 1, "name": "seq", "min": 2, "max": 16, "symbol": "s27", "times": 1, "plus": 0}
    ]}]}}

`symbol`, `times` and `plus` say that the size is times * symbol + plus; equal symbols are equal
sizes. They are left out where the size is no such multiple.
"""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

import torch

from etlab.exir.edge import EdgeGraph, InputKind

KEY = "etlab.inputs"
VERSION = 1
_LARGEST_SIZE = 2**31 - 1


def input_bounds(graphs: Mapping[str, EdgeGraph]) -> dict[str, bytes]:
    """The entry of a program by its name; nothing when no input of any method is dynamic."""
    methods = {name: list(_inputs(graph)) for name, graph in sorted(graphs.items())}
    methods = {name: inputs for name, inputs in methods.items() if inputs}
    if not methods:
        return {}
    content = {"version": VERSION, "methods": methods}
    return {KEY: json.dumps(content, separators=(",", ":")).encode()}


def _inputs(graph: EdgeGraph) -> Iterator[dict[str, Any]]:
    placeholders = [node for node in graph.graph.nodes if node.op == "placeholder"]
    given = [
        node
        for node, spec in zip(placeholders, graph.inputs, strict=True)
        if spec.kind is InputKind.USER_INPUT
    ]
    for place, node in enumerate(given):
        example = node.meta.get("val")
        if not isinstance(example, torch.Tensor):
            continue
        if not any(isinstance(size, torch.SymInt) for size in example.shape):
            continue  # the program itself holds its sizes
        dimensions = [
            _dimension(dimension, size, node.name, graph.range_constraints)
            for dimension, size in enumerate(example.shape)
        ]
        yield {"input": place, "name": node.name, "dimensions": dimensions}


def _dimension(place: int, size: Any, input_name: str, ranges: Mapping[Any, Any]) -> dict[str, Any]:
    if not isinstance(size, torch.SymInt):
        return {"dimension": place, "min": size, "max": size}
    expression = size.node.expr
    # Here, as sympy takes a third of a second to load and static programs do without.
    from torch.utils._sympy.value_ranges import bound_sympy

    bound = ranges[expression] if expression in ranges else bound_sympy(expression, dict(ranges))
    described: dict[str, Any] = {"dimension": place}
    name = _names(size.node.shape_env).get((input_name, place))
    if name is not None:
        described["name"] = name
    described["min"] = max(0, int(bound.lower)) if bound.lower.is_finite else 0
    described["max"] = (
        min(_LARGEST_SIZE, int(bound.upper)) if bound.upper.is_finite else _LARGEST_SIZE
    )
    symbols = sorted(expression.free_symbols, key=str)
    if len(symbols) == 1:
        symbol = symbols[0]
        times, plus = expression.coeff(symbol, 1), expression.coeff(symbol, 0)
        is_linear = (times * symbol + plus - expression).expand() == 0
        if is_linear and times.is_Integer and plus.is_Integer and times > 0:
            described |= {"symbol": str(symbol), "times": int(times), "plus": int(plus)}
    return described


def _names(shape_env: Any) -> dict[tuple[str, int], str]:
    """What the user called dimensions, by input and dimension; torch keeps it by source text."""
    found = {}
    for source, name in getattr(shape_env, "source_name_to_debug_name", {}).items():
        match = re.fullmatch(r"L((?:\[[^\]]+\]|\.\w+)+)\.size\(\)\[(\d+)\]", source)
        if match is not None and name.isprintable():
            parts = re.findall(r"\w+", match[1])
            found["_".join(parts), int(match[2])] = name
    return found
