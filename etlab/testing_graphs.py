"""Lowering and passes against eager: export, lower, run the edge graph, compare."""

import copy
from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from etlab.testing import assert_same


def export_module(
    module: torch.nn.Module, inputs: Sequence[Any], **options: Any
) -> torch.export.ExportedProgram:
    """Export a module in inference mode, without the strict tracer."""
    return torch.export.export(module.eval(), tuple(inputs), strict=False, **options)


def assert_same_layout(actual: torch.Tensor, expected: torch.Tensor, what: str = "output") -> None:
    """Assert equal strides, but of dimensions of size 1, whose stride means nothing."""
    sizes = expected.shape
    pairs = zip(sizes, actual.stride(), expected.stride(), strict=True)
    assert expected.numel() == 0 or all(size == 1 or got == want for size, got, want in pairs), (
        f"{what}: sizes {tuple(sizes)}, strides {tuple(actual.stride())}, not"
        f" {tuple(expected.stride())}"
    )


def check_lowering(
    module: torch.nn.Module,
    *inputs: Any,
    more_inputs: Sequence[Sequence[Any]] = (),
    is_training: bool = False,
    **export_options: Any,
) -> Any:
    """Assert that the edge graph of `module` computes what eager does, state included.

    Args:
        module: an eager module; it is run on copies of `inputs`, so its buffers change.
        *inputs: example inputs of the export and of the first run.
        more_inputs: inputs of further runs, in order, with the state that the runs before left.
        is_training: export in training mode.
        **export_options: for `torch.export.export`.

    Returns:
        The edge graph.
    """
    from etlab.exir import to_edge
    from etlab.exir.graph import run_edge_graph

    module = module.train() if is_training else module.eval()
    exported = torch.export.export(
        copy.deepcopy(module), copy.deepcopy(inputs), strict=False, **export_options
    )
    edge = to_edge(exported).edge_graph()
    for run, given in enumerate((inputs, *more_inputs)):
        eager_inputs, edge_inputs = copy.deepcopy(tuple(given)), copy.deepcopy(tuple(given))
        with torch.no_grad():
            expected = pytree.tree_leaves(module(*eager_inputs))
        flat = [leaf for leaf in pytree.tree_leaves(edge_inputs) if leaf is not None]
        outputs, writes = run_edge_graph(edge, flat)
        for index, (actual, want) in enumerate(zip(outputs, expected, strict=True)):
            if isinstance(want, torch.Tensor):
                assert_same(actual, want, f"run {run}, output {index}")
            else:
                assert actual == want, f"run {run}, output {index}: {actual} is not {want}"
        state = {**dict(module.named_buffers()), **dict(module.named_parameters())}
        for target, value in writes.items():
            if target in edge.tensors:
                assert_same(value, state[target], f"run {run}, buffer '{target}'")
                edge.tensors[target] = value
        _check_written_inputs(edge, writes, edge_inputs, eager_inputs)
    return edge


def _check_written_inputs(edge: Any, writes: Any, given: Any, after: Any) -> None:
    """Assert that exactly the inputs that eager changed are written, with eager's values."""
    from etlab.exir.edge import InputKind

    names = [spec.arg.name for spec in edge.inputs if spec.kind is InputKind.USER_INPUT]
    before = [leaf for leaf in pytree.tree_leaves(given) if leaf is not None]
    now = [leaf for leaf in pytree.tree_leaves(after) if leaf is not None]
    for name, old, new in zip(names, before, now, strict=True):
        if isinstance(new, torch.Tensor):
            assert_same(writes.get(name, old), new, f"input '{name}' after the call")


def check_pass(
    one: Any, module: torch.nn.Module, *inputs: Any, keep_whole: bool = False, **export_options: Any
) -> Any:
    """Assert that a pass leaves a valid graph that computes the same, through the same interface.

    Args:
        one: the pass.
        module: what to export.
        *inputs: example inputs; the graphs are compared on them.
        keep_whole: start from the graph as the decomposition leaves it, without edge passes.
        **export_options: for `torch.export.export`.

    Returns:
        `(graph after the pass, whether it changed)`.
    """
    from etlab.exir import to_edge
    from etlab.exir.decompose import decompose
    from etlab.exir.graph import copy_edge_graph, run_edge_graph
    from etlab.exir.passes.pipeline import run_passes
    from etlab.exir.verify import verify

    exported = export_module(module, inputs, **export_options)
    before = decompose(exported) if keep_whole else to_edge(exported).edge_graph()
    after = copy_edge_graph(before)
    texts = [str(after.graph)]
    run_passes(after, [one], verify_each=True)
    verify(after, allow=None)
    texts.append(str(after.graph))
    expected, writes = run_edge_graph(before, inputs)
    actual, new_writes = run_edge_graph(after, inputs)
    for index, (got, want) in enumerate(zip(actual, expected, strict=True)):
        assert_same(got, want, f"{one.name}: output {index}")
    assert new_writes.keys() == writes.keys(), f"{one.name} changed what is written"
    for name, want in writes.items():
        assert_same(new_writes[name], want, f"{one.name}: '{name}'")
    return after, texts[0] != texts[1]
