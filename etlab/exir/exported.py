"""Edge graphs as `torch.export.ExportedProgram`: real ones, and a view that costs nothing."""

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

import torch
from torch import fx
from torch._export.verifier import Verifier
from torch.export import ExportedProgram
from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
from torch.export.graph_signature import ExportGraphSignature, InputKind
from torch.utils import _pytree as pytree

from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import copy_edge_graph


class EdgeDialectVerifier(Verifier):
    """Tells torch that the program is an edge program; our own verifier checks it.

    torch keeps one verifier a name, and "EDGE" is ExecuTorch's: both live in one process.
    """

    dialect = "ETLAB_EDGE"

    def allowed_op_types(self) -> tuple[type[Any], ...]:
        """Operators, and the call of a delegate."""
        from etlab.exir.partition.delegate import executorch_call_delegate

        return (*super().allowed_op_types(), type(executorch_call_delegate))

    def allowed_getattr_types(self) -> tuple[type[Any], ...]:
        """Bodies of control flow, and delegates."""
        from etlab.exir.partition.delegate import LoweredModule

        return (*super().allowed_getattr_types(), LoweredModule)


def graph_module(edge: EdgeGraph, graph: fx.Graph | None = None) -> fx.GraphModule:
    """A GraphModule over the graph itself (or over `graph`), with the bodies as attributes."""
    root = torch.nn.Module()
    for name, body in edge.submodules.items():
        value = graph_module(body) if isinstance(body, EdgeGraph) else body
        setattr(root, name, value)
    return fx.GraphModule(root, edge.graph if graph is None else graph)


def _stored_apart(edge: EdgeGraph) -> tuple[dict[str, Any], dict[str, Any]]:
    """The tensors as torch keeps them: (state_dict, constants)."""
    state: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for spec in edge.inputs:
        target = str(spec.target)
        if spec.kind is InputKind.PARAMETER:
            tensor = edge.tensors[target]
            is_parameter = isinstance(tensor, torch.nn.Parameter)
            state[target] = (
                tensor if is_parameter else torch.nn.Parameter(tensor, requires_grad=False)
            )
        elif spec.kind is InputKind.BUFFER:
            (state if spec.persistent else constants)[target] = edge.tensors[target]
        elif spec.kind is InputKind.CONSTANT_TENSOR:
            constants[target] = edge.tensors[target]
    return state, constants


def to_exported_program(edge: EdgeGraph) -> ExportedProgram:
    """A program of its own: nodes copied, tensors shared."""
    own = copy_edge_graph(edge)
    state, constants = _stored_apart(own)
    arguments = [None for spec in own.inputs if spec.kind is InputKind.USER_INPUT]
    in_spec = own.in_spec or pytree.tree_structure((tuple(arguments), {}))
    users = [spec for spec in own.outputs if spec.target is None]
    out_spec = own.out_spec or pytree.tree_structure(tuple(None for _ in users))
    return ExportedProgram(
        root=graph_module(own),
        graph=own.graph,
        graph_signature=ExportGraphSignature(list(own.inputs), list(own.outputs)),
        state_dict=state,
        range_constraints=dict(own.range_constraints),
        module_call_graph=[
            ModuleCallEntry(
                fqn="",
                signature=ModuleCallSignature(
                    inputs=[], outputs=[], in_spec=in_spec, out_spec=out_spec
                ),
            )
        ],
        example_inputs=own.example_inputs,
        constants=constants,
        verifiers=[EdgeDialectVerifier],
    )


class EdgeProgramView:
    """What partitioners and backends see: an edge graph with `ExportedProgram`'s attributes.

    The nodes are those of the graph itself, so a tag put on one is seen by the compiler. Whatever
    the view lacks is asked of a real `ExportedProgram`, made when first needed.

    Attributes:
        edge_graph: the graph behind it.
    """

    def __init__(self, edge: EdgeGraph) -> None:
        self.edge_graph = edge

    @property
    def graph(self) -> fx.Graph:
        """The graph."""
        return self.edge_graph.graph

    @cached_property
    def graph_module(self) -> fx.GraphModule:
        """A GraphModule that holds the very graph."""
        return graph_module(self.edge_graph)

    @cached_property
    def graph_signature(self) -> ExportGraphSignature:
        """What the placeholders and outputs mean."""
        return ExportGraphSignature(list(self.edge_graph.inputs), list(self.edge_graph.outputs))

    @cached_property
    def _stored(self) -> tuple[dict[str, Any], dict[str, Any]]:
        return _stored_apart(self.edge_graph)

    @property
    def state_dict(self) -> dict[str, Any]:
        """Parameters and persistent buffers."""
        return self._stored[0]

    @property
    def constants(self) -> dict[str, Any]:
        """Lifted constants and buffers that are not persistent."""
        return self._stored[1]

    @property
    def tensor_constants(self) -> dict[str, Any]:
        """The same as `constants`."""
        return self.constants

    @property
    def range_constraints(self) -> Mapping[Any, Any]:
        """Bounds of the symbolic sizes."""
        return self.edge_graph.range_constraints

    @property
    def example_inputs(self) -> Any:
        """`(args, kwargs)` of the export, when known."""
        return self.edge_graph.example_inputs

    def named_parameters(self) -> Iterator[tuple[str, Any]]:
        """Names and parameters."""
        for name in self.graph_signature.parameters:
            yield name, self.state_dict[name]

    def named_buffers(self) -> Iterator[tuple[str, Any]]:
        """Names and buffers."""
        for name in self.graph_signature.buffers:
            yield name, self.state_dict.get(name, self.constants.get(name))

    @cached_property
    def _program(self) -> ExportedProgram:
        return to_exported_program(self.edge_graph)

    def __getattr__(self, name: str) -> Any:
        """Ask the real program."""
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._program, name)
