"""Control flow: bodies become edge graphs of their own, region wrappers are inlined."""

from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    SymIntArgument,
    TensorArgument,
)

from etlab.errors import LoweringError
from etlab.exir.decompose.aliases import BeyondWalkError
from etlab.exir.decompose.in_place import lower_auto_functionalized
from etlab.exir.decompose.templates import SYMBOLIC
from etlab.exir.decompose.walk import Walk
from etlab.exir.edge import EdgeGraph
from etlab.exir.fakes import contiguous

# Wrappers of a region that mean nothing to a runtime, with the position of their body.
_INLINED = {
    "wrap_with_set_grad_enabled": 1,
}
# Position of the bodies and of the operand tuples that captured constants are appended to.
_BODIES = {"cond": ((1, 2), 3), "map_impl": ((0,), 2), "scan": ((0,), 3), "while_loop": ((0, 1), 3)}


def lower_higher_order(
    walk: Walk, target: Any, args: tuple[Any, ...], kwargs: dict[str, Any], val: Any
) -> Any:
    """Bring over a call of a higher-order operator."""
    name = target.name()
    if name in _INLINED:
        body = _INLINED[name]
        return _inline(walk, args[body], args[body + 1 :])
    if name == "wrap_with_autocast":
        raise BeyondWalkError("a region runs under autocast")
    if name == "auto_functionalized_v2":
        return lower_auto_functionalized(walk, args, kwargs, val)
    if name not in _BODIES:
        return walk.refuse(target, args, kwargs, val)
    positions, captured_at = _BODIES[name]
    new_args = list(args)
    walks = [_body(walk, args[position]) for position in positions]
    captured: list[torch.Tensor] = []
    for body_walk, _ in walks:
        captured += [t for t in body_walk.constants.values() if not any(t is c for c in captured)]
    for position, (body_walk, outputs) in zip(positions, walks, strict=True):
        edge_name = _finish(walk, body_walk, outputs, captured, f"{name}_body")
        node = walk.graph.get_attr(edge_name)
        node.meta = {**walk.provenance}
        new_args[position] = node
    if captured:
        lifted = tuple(walk.constant(tensor) for tensor in captured)
        new_args[captured_at] = (*new_args[captured_at], *lifted)
    return walk.raw(target, tuple(new_args), kwargs, contiguous(walk.shared.mode, val))


def _inline(walk: Walk, module: fx.GraphModule, operands: tuple[Any, ...]) -> Any:
    placeholders = [node for node in module.graph.nodes if node.op == "placeholder"]
    env = dict(zip(placeholders, operands, strict=True))
    outer = walk.provenance
    (results,) = walk.walk(module.graph.nodes, env, module)
    walk.provenance = outer
    return tuple(results) if isinstance(results, list) else results


def _body(walk: Walk, module: fx.GraphModule) -> tuple[Walk, list[Any]]:
    """Walk a body on its own; its constants are still placeholders of the body only."""
    inner = Walk(walk.shared)
    env: dict[fx.Node, Any] = {}
    handles = []
    for node in module.graph.nodes:
        if node.op == "placeholder":
            val = contiguous(walk.shared.mode, node.meta.get("val"))
            inner.provenance = {"from_node": node.name}
            env[node] = inner.placeholder(node.name, val, is_user_input=False)
            handles.append(env[node])
            if isinstance(val, SYMBOLIC):
                inner.symbols.define(val, env[node])
    (results,) = inner.walk(module.graph.nodes, env, module)
    if any(inner.aliases.was_written(handle) for handle in handles):
        raise LoweringError(
            f"a control-flow body writes a tensor that it got from outside (near node "
            f"'{walk.provenance['from_node']}'); return the new value instead"
        )
    results = list(results) if isinstance(results, list | tuple) else [results]
    return inner, [inner.read(value) for value in results]


def _finish(
    walk: Walk, inner: Walk, outputs: list[Any], captured: list[torch.Tensor], prefix: str
) -> str:
    """Give the body a placeholder for every captured constant, in one order; store it."""
    body_nodes = [node for node in inner.graph.nodes if node.op != "placeholder"]
    for tensor in captured:
        own = next((n for n, t in inner.constants.items() if t is tensor), None)
        first = body_nodes[0] if body_nodes else None
        if own is None:
            own = inner.constant(tensor)
        if first is not None:
            first.prepend(own)
    output = inner.graph.output(tuple(outputs))
    output.meta = {"val": tuple(getattr(n, "meta", {}).get("val", n) for n in outputs)}
    name = f"{prefix}_{walk.shared.body_count}"
    walk.shared.body_count += 1
    placeholders = [node for node in inner.graph.nodes if node.op == "placeholder"]
    walk.submodules[name] = EdgeGraph(
        name=name,
        graph=inner.graph,
        inputs=[InputSpec(InputKind.USER_INPUT, _argument(n), None) for n in placeholders],
        outputs=[OutputSpec(OutputKind.USER_OUTPUT, _argument(n), None) for n in outputs],
        tensors={},
        range_constraints={},
        in_spec=None,
        out_spec=None,
        submodules=inner.submodules,
    )
    return name


def _argument(value: Any) -> Any:
    if not isinstance(value, fx.Node):
        return ConstantArgument("", value)
    if isinstance(value.meta.get("val"), torch.Tensor):
        return TensorArgument(value.name)
    return SymIntArgument(value.name)
