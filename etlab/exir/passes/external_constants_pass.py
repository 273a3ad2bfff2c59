"""Weights of delegates outside of the program: a function on what is exported, not on the graph.

Before: `linear(x, w)` in a delegate, `w` stored in the program.
After: `w` stored in the `.ptd` file that the function named.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import fx

from etlab.errors import InvalidArgumentError
from etlab.exir.graph import CONSTANT_TAG


class ExternalConstantsResult(NamedTuple):
    """ExecuTorch's `PassResult` of a module: the module, and whether anything changed."""

    graph_module: torch.nn.Module
    modified: bool


def delegate_external_constants_pass_unlifted(
    module: torch.nn.Module, gen_tag_fn: Callable[[fx.Node], str | None] | None = None
) -> ExternalConstantsResult:
    """Say which file holds each constant that a delegate takes along, in place.

    Example::

        module = torch.export.export(model, inputs).module()
        delegate_external_constants_pass_unlifted(module, gen_tag_fn=lambda node: "weights")
        program = to_edge_transform_and_lower(
            torch.export.export(module, inputs), partitioner=[XnnpackPartitioner()]
        ).to_executorch()
        program.write_tensor_data_to_file(folder)  # weights.ptd

    All constants of a layer are stored where the first one of them is. The model that was exported
    keeps its own parameters.

    Args:
        module: `ExportedProgram.module()`; it is exported once more afterwards.
        gen_tag_fn: from a `get_attr` node to the name of a file without its suffix, or None to keep
            the constant in the program.

    Raises:
        InvalidArgumentError: the function returned something else.
    """
    changed = False
    if gen_tag_fn is None:
        return ExternalConstantsResult(module, changed)
    for graph_module in module.modules():
        if not isinstance(graph_module, fx.GraphModule):
            continue
        for node in graph_module.graph.nodes:
            if node.op == "get_attr":
                changed |= _tag(graph_module, node, gen_tag_fn(node))
    return ExternalConstantsResult(module, changed)


def _tag(module: fx.GraphModule, node: fx.Node, tag: Any) -> bool:
    if tag is not None and (not isinstance(tag, str) or not tag):
        raise InvalidArgumentError(
            f"gen_tag_fn gave {tag!r} for '{node.name}'; it must return a file name such as"
            ' "weights", or None'
        )
    if tag is None:
        return False
    node.meta.setdefault("custom", {})[CONSTANT_TAG] = tag
    path, _, name = str(node.target).rpartition(".")
    owner = module.get_submodule(path)
    tensor = getattr(owner, name)
    if not isinstance(tensor, torch.Tensor):
        return False
    # Another export keeps the tensors but not the nodes' meta: the tag travels with the tensor, one
    # of the module's own with the same memory.
    alias: Any = tensor.detach()
    if isinstance(tensor, torch.nn.Parameter):
        alias = torch.nn.Parameter(alias, requires_grad=tensor.requires_grad)
    setattr(alias, CONSTANT_TAG, tag)
    setattr(owner, name, alias)
    return True
