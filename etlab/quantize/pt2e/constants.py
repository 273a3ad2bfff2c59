"""Parameters and buffers of an exported module, by the nodes that read them."""

from typing import Any

import torch
from torch import fx


def constant_of(model: fx.GraphModule, node: fx.Node) -> torch.Tensor:
    """The tensor that a `get_attr` node reads, without its history."""
    value: Any = model
    for part in str(node.target).split("."):
        value = getattr(value, part)
    tensor: torch.Tensor = value.detach()
    return tensor


def state_of(graph: fx.Graph) -> set[str]:
    """Names of buffers that a run writes into: no constants, whatever they hold now."""
    names = set()
    for node in graph.nodes:
        schema = getattr(node.target, "_schema", None)
        if schema is None or not schema.is_mutable:
            continue
        for argument, value in zip(schema.arguments, node.args, strict=False):
            if argument.alias_info is None or not argument.alias_info.is_write:
                continue
            while isinstance(value, fx.Node) and value.op == "call_function" and value.args:
                value = value.args[0]  # through views
            if isinstance(value, fx.Node) and value.op == "get_attr":
                names.add(str(value.target))
    return names


def new_constant(
    model: fx.GraphModule, value: torch.Tensor, prefix: str, before: fx.Node
) -> fx.Node:
    """A buffer with a new name, and a node that reads it.

    Args:
        model: what it belongs to.
        value: its elements.
        prefix: of its name.
        before: where the node goes.
    """
    number, name = 0, prefix
    while hasattr(model, name):
        name, number = f"{prefix}_{number}", number + 1
    model.register_buffer(name, value)
    with model.graph.inserting_before(before):
        node = model.graph.get_attr(name)
    fake_mode = _fake_mode(before.graph)
    if fake_mode is not None:
        node.meta["val"] = fake_mode.from_tensor(value, static_shapes=True)
    return node


def _fake_mode(graph: fx.Graph) -> Any:
    for node in graph.nodes:
        mode = getattr(node.meta.get("val"), "fake_mode", None)
        if mode is not None:
            return mode
    return None


def drop_unused(model: fx.GraphModule) -> None:
    """Delete parameters and buffers that no node reads."""
    used = {str(node.target) for node in model.graph.nodes if node.op == "get_attr"}
    names = [name for name, _ in model.named_parameters(remove_duplicate=False)]
    names += [name for name, _ in model.named_buffers(remove_duplicate=False)]
    for name in names:
        if name not in used and not any(name.startswith(f"{one}.") for one in used):
            owner, _, leaf = name.rpartition(".")
            delattr(model.get_submodule(owner), leaf)
