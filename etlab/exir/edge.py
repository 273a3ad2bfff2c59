"""The edge graph: what passes edit, partitioners tag and the emitter reads.

One `torch.fx.Graph` of functional core ATen operators (plain `OpOverload` targets), with the record
of what its placeholders and outputs mean. No `GraphModule`, no retracing: a pass edits `graph` in
place and gives every new node its `meta["val"]` (a FakeTensor, number or SymInt; tuples for several
results).

Node meta that every pass keeps: `val`, `stack_trace`, `nn_module_stack`, `torch_fn`, `from_node`
(name of the node of the exported graph it came from), `merged_from` (names of the nodes that passes
put into it, if any), `debug_handle` (int).
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import fx
from torch.export.graph_signature import InputKind, InputSpec, OutputKind, OutputSpec
from torch.utils._pytree import TreeSpec

__all__ = ["EdgeGraph", "InputKind", "InputSpec", "OutputKind", "OutputSpec", "PassRecord"]


@dataclass(slots=True)
class EdgeGraph:
    """One method between export and emission.

    Attributes:
        name: the method's name.
        graph: placeholders stand in the order of `inputs`; the output node's flat tuple in the
            order of `outputs` (buffer writes, input writes, then user outputs).
        inputs: one spec a placeholder; PARAMETER, BUFFER and CONSTANT_TENSOR name their tensor by
            `spec.target`.
        outputs: one spec an output.
        tensors: parameters, buffers and lifted constants by their fully qualified name.
        range_constraints: symbol to its value range, for dynamic shapes.
        in_spec: tree of `(args, kwargs)`.
        out_spec: tree of the result.
        submodules: what `get_attr` nodes name: bodies of control flow (`EdgeGraph`) and delegated
            subgraphs (`etlab.exir.partition.delegate.LoweredModule`).
        example_inputs: `(args, kwargs)` of the export, when known.
        history: what the passes did to it so far, in order.
        foreign_state: names of buffers that other methods of the program write, so that their
            values here must not be taken for constants.
        output_orders: for each of `outputs`, the order of dimensions that the program returns it
            in, though it is contiguous in the graph; None is that of the graph. Empty when all are.
        constant_methods: values that the program answers by name, for what passes did to the graph.
    """

    name: str
    graph: fx.Graph
    inputs: list[InputSpec]
    outputs: list[OutputSpec]
    tensors: dict[str, torch.Tensor]
    range_constraints: dict[Any, Any]
    in_spec: TreeSpec | None
    out_spec: TreeSpec | None
    submodules: dict[str, Any] = field(default_factory=dict)
    example_inputs: tuple[tuple[Any, ...], dict[str, Any]] | None = None
    history: list["PassRecord"] = field(default_factory=list)
    foreign_state: frozenset[str] = frozenset()
    output_orders: tuple[tuple[int, ...] | None, ...] = ()
    constant_methods: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class PassRecord:
    """What one pass did to one graph.

    Attributes:
        name: of the pass.
        changed: whether it says that it changed the graph.
        removed: operators of which there are fewer afterwards, with how many; "tensors" are
            parameters, buffers and constants.
        added: operators of which there are more afterwards, likewise.
        seconds: its time.
    """

    name: str
    changed: bool
    removed: Mapping[str, int]
    added: Mapping[str, int]
    seconds: float
