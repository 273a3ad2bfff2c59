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


def new_constant(
    model: fx.GraphModule,
    value: torch.Tensor,
    prefix: str,
    before: fx.Node,
    *,
    is_parameter: bool = False,
) -> fx.Node:
    """A buffer or a parameter with a new name, and a node that reads it.

    Args:
        model: what it belongs to.
        value: its elements.
        prefix: of its name.
        before: where the node goes.
        is_parameter: whether it is trained.
    """
    number, name = 0, prefix
    while hasattr(model, name):
        name, number = f"{prefix}_{number}", number + 1
    if is_parameter:
        model.register_parameter(name, torch.nn.Parameter(value))
    else:
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
