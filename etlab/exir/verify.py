"""What makes an edge graph valid: one table of rules, checked in one walk (about 3 us a node)."""

from collections.abc import Callable, Collection
from dataclasses import dataclass
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator, OpOverload
from torch._subclasses.fake_tensor import FakeTensor
from torch.export.graph_signature import InputKind, OutputKind

from etlab.errors import LoweringError
from etlab.exir import assertions
from etlab.exir.decompose.operators import EXPANDED_LATER, has_kernel, is_view, is_write
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import STATE_KINDS
from etlab.exir.ops import PRIM_OPERATORS

_OPS = {"placeholder", "get_attr", "call_function", "output"}
_MAX_REPORTED = 20


@dataclass(slots=True)
class _State:
    """What the rules look things up in."""

    edge: EdgeGraph
    allow: Collection[str] | None
    seen: set[fx.Node]
    state: dict[str, str]


Check = Callable[[_State, fx.Node], str | None]


def _known_op(state: _State, node: fx.Node) -> str | None:
    return None if node.op in _OPS else f"op '{node.op}' cannot stand in an edge graph"


def _defined_before_use(state: _State, node: fx.Node) -> str | None:
    for source in node.all_input_nodes:
        if source not in state.seen:
            return f"uses '{source.name}' before it is made"
    return None


def _served_operator(state: _State, node: fx.Node) -> str | None:
    target: Any = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload):
        return None
    if target in assertions.KEPT or (state.allow is not None and str(target) in state.allow):
        return None
    if is_write(target):
        return f"{target} writes its argument; an edge graph is functional"
    if is_view(target):
        return f"{target} returns a view; use its _copy variant"
    if state.allow is not None and not has_kernel(target) and target not in EXPANDED_LATER:
        return f"{target} has no kernel"
    return None


def _known_callable(state: _State, node: fx.Node) -> str | None:
    target: Any = node.target
    if node.op != "call_function" or isinstance(target, OpOverload | HigherOrderOperator):
        return None
    if target in PRIM_OPERATORS or getattr(target, "__module__", "") in ("_operator", "math"):
        return None
    if "executorch_call_delegate" in str(target):
        return None
    return f"calls {target}, which is neither an operator nor arithmetic on sizes"


def _has_val(state: _State, node: fx.Node) -> str | None:
    if node.op in ("get_attr", "output") or "val" in node.meta:
        return None
    return "has no meta['val']"


def _contiguous_val(state: _State, node: fx.Node) -> str | None:
    if node.op != "call_function":
        return None
    val = node.meta.get("val")
    for one in val if isinstance(val, tuple | list) else (val,):
        if not isinstance(one, torch.Tensor):
            continue
        if not isinstance(one, FakeTensor):
            return "holds a real tensor in meta['val']"
        if not one._has_symbolic_sizes_strides and not one.is_contiguous():
            return f"meta['val'] has strides {tuple(one.stride())}, not contiguous ones"
    return None


def _state_matches(state: _State, node: fx.Node) -> str | None:
    target = state.state.get(node.name) if node.op == "placeholder" else None
    if target is None:
        return None
    tensor = state.edge.tensors.get(target)
    if tensor is None:
        return f"no tensor is stored under '{target}'"
    val = node.meta.get("val")
    if isinstance(val, torch.Tensor) and (
        val.dtype != tensor.dtype or tuple(val.shape) != tuple(tensor.shape)
    ):
        return (
            f"is {val.dtype} {tuple(val.shape)}, but '{target}' holds {tensor.dtype} "
            f"{tuple(tensor.shape)}"
        )
    return None


def _attribute_exists(state: _State, node: fx.Node) -> str | None:
    if node.op == "get_attr" and node.target not in state.edge.submodules:
        return f"no submodule '{node.target}'"
    return None


NODE_RULES: tuple[Check, ...] = (
    _known_op,
    _defined_before_use,
    _served_operator,
    _known_callable,
    _has_val,
    _contiguous_val,
    _state_matches,
    _attribute_exists,
)


def _signature_problems(edge: EdgeGraph) -> list[str]:
    problems = []
    placeholders = [node.name for node in edge.graph.nodes if node.op == "placeholder"]
    named = [spec.arg.name for spec in edge.inputs]
    if placeholders != named:
        problems.append(f"placeholders are {placeholders}, the signature says {named}")
    outputs: Any = edge.graph.output_node().args[0]
    if len(outputs) != len(edge.outputs):
        problems.append(f"{len(outputs)} outputs, the signature says {len(edge.outputs)}")
    if edge.output_orders and len(edge.output_orders) != len(edge.outputs):
        problems.append(f"{len(edge.output_orders)} orders of {len(edge.outputs)} outputs")
    buffers = {spec.target for spec in edge.inputs if spec.kind is InputKind.BUFFER}
    inputs = {spec.arg.name for spec in edge.inputs if spec.kind is InputKind.USER_INPUT}
    for node, spec in zip(outputs, edge.outputs, strict=False):
        if isinstance(node, fx.Node) and getattr(spec.arg, "name", "") != node.name:
            problems.append(f"output '{node.name}' is named {spec.arg} in the signature")
        if spec.kind is OutputKind.BUFFER_MUTATION and spec.target not in buffers:
            problems.append(f"writes buffer '{spec.target}', which is no input")
        if spec.kind is OutputKind.USER_INPUT_MUTATION and spec.target not in inputs:
            problems.append(f"writes input '{spec.target}', which is no user input")
    return problems


def problems(edge: EdgeGraph, *, allow: Collection[str] | None = ()) -> list[str]:
    """Everything that is wrong with `edge`, in sentences.

    Args:
        edge: the graph.
        allow: names of operators that may stand in it although no kernel serves them; None allows
            all.
    """
    state = _State(
        edge,
        allow,
        set(),
        {spec.arg.name: str(spec.target) for spec in edge.inputs if spec.kind in STATE_KINDS},
    )
    found = []
    for node in edge.graph.nodes:
        for check in NODE_RULES:
            problem = check(state, node)
            if problem is not None:
                found.append(f"node '{node.name}' {problem}")
        state.seen.add(node)
    found += _signature_problems(edge)
    for name, body in edge.submodules.items():
        if isinstance(body, EdgeGraph):
            found += [f"in '{name}': {problem}" for problem in problems(body, allow=allow)]
    return found


def verify(edge: EdgeGraph, *, allow: Collection[str] | None = ()) -> None:
    """Check `edge` against the table.

    Raises:
        LoweringError: with everything that is wrong.
    """
    found = problems(edge, allow=allow)
    if not found:
        return
    shown = "\n".join(f"  {problem}" for problem in found[:_MAX_REPORTED])
    more = len(found) - _MAX_REPORTED
    suffix = f"\n  and {more} more" if more > 0 else ""
    raise LoweringError(f"method '{edge.name}': the edge graph is invalid:\n{shown}{suffix}")
