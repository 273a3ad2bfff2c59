"""A quantized module as an exported program, without tracing it again.

`ExportedProgram.module()` turns the inputs that stand for parameters and buffers into attributes;
here they become inputs again, with what quantization has changed. Tracing would take longer than
all of quantization.
"""

import contextlib
import dataclasses
from typing import Any

import torch
from torch import fx
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ExportGraphSignature,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)

# The order in which a program takes its inputs.
_ORDER = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR, InputKind.CUSTOM_OBJ)


def can_lift(exported: ExportedProgram) -> bool:
    """Whether a program's module differs from it by attributes alone: it returns no state."""
    return all(
        spec.kind is OutputKind.USER_OUTPUT for spec in exported.graph_signature.output_specs
    )


def lift(model: fx.GraphModule, exported: ExportedProgram) -> ExportedProgram:
    """A module as a program; its graph becomes the program's.

    Args:
        model: made of `exported.module()`, with other operators and constants since.
        exported: tells inputs, outputs, shapes and what attributes are; see `can_lift`.
    """
    graph = model.graph
    _drop_guards(graph)
    _compute_missing_values(graph)
    inputs = _lift_attributes(model, exported)
    signature = ExportGraphSignature(inputs, _output_specs(graph, exported))
    state: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    for spec in inputs:
        if spec.target is not None:
            is_state = spec.kind is InputKind.PARAMETER or spec.persistent
            (state if is_state else constants)[spec.target] = _attribute(model, spec.target)
    root = fx.GraphModule(_submodules(model), graph)
    root.meta.update(exported.graph_module.meta)
    return ExportedProgram(
        root=root,
        graph=graph,
        graph_signature=signature,
        state_dict=state,
        range_constraints=exported.range_constraints,
        module_call_graph=exported.module_call_graph,
        example_inputs=exported.example_inputs,
        constants=constants,
        verifiers=exported.verifiers,
    )


def _drop_guards(graph: fx.Graph) -> None:
    """Remove the check of inputs that `module()` has added; the next `module()` adds its own."""
    for node in [node for node in graph.nodes if node.op == "call_module"]:
        assert not node.users, f"{node} is a module that is no observer"
        graph.erase_node(node)


def _compute_missing_values(graph: fx.Graph) -> None:
    """Give new operators their fake results."""
    calls = [node for node in graph.nodes if node.op == "call_function" and "val" not in node.meta]
    values = (node.meta.get("val") for node in graph.nodes)
    modes = (mode for value in values if (mode := getattr(value, "fake_mode", None)) is not None)
    with next(modes, contextlib.nullcontext()):
        for node in calls:
            args, kwargs = fx.map_arg((node.args, dict(node.kwargs)), lambda n: n.meta["val"])
            node.meta["val"] = node.target(*args, **kwargs)


def _lift_attributes(model: fx.GraphModule, exported: ExportedProgram) -> list[InputSpec]:
    """Make inputs of the tensors that a graph reads, in front of the user's; all of them in order.

    Attributes that are modules, bodies of loops and branches, stay.
    """
    graph = model.graph
    before = exported.graph_signature.input_specs
    known = {spec.target: spec for spec in before if spec.kind is not InputKind.USER_INPUT}
    readers: dict[str, list[fx.Node]] = {}
    for node in graph.nodes:
        if node.op == "get_attr" and not isinstance(_attribute(model, node.target), fx.GraphModule):
            readers.setdefault(node.target, []).append(node)
    specs = [_spec_of(target, known) for target in readers]
    specs.sort(key=lambda spec: _ORDER.index(spec.kind))
    first = next(node for node in graph.nodes if node.op in ("call_function", "output"))
    for spec in specs:
        assert spec.target is not None
        reading = readers[spec.target]
        with graph.inserting_before(first):
            new = graph.placeholder(spec.arg.name)
        new.target, new.meta = new.name, dict(reading[0].meta)
        spec.arg = TensorArgument(new.name) if isinstance(spec.arg, TensorArgument) else spec.arg
        for node in reading:
            node.replace_all_uses_with(new)
            graph.erase_node(node)
    lifted = {spec.arg.name for spec in specs}
    users = [node for node in graph.find_nodes(op="placeholder") if node.name not in lifted]
    wanted = [spec for spec in before if spec.kind is InputKind.USER_INPUT]
    for given, spec in zip(users, wanted, strict=True):
        first.prepend(given)
        argument = dataclasses.replace(spec.arg, name=given.name)
        specs.append(InputSpec(InputKind.USER_INPUT, argument, None))
    return specs


def _spec_of(target: str, known: dict[str | None, InputSpec]) -> InputSpec:
    """What an attribute is: as it was, or a buffer if quantization has made it."""
    if target in known:
        spec = known[target]
        return InputSpec(spec.kind, spec.arg, spec.target, spec.persistent)
    argument = TensorArgument(f"b_{target.replace('.', '_')}")
    return InputSpec(InputKind.BUFFER, argument, target, persistent=True)


def _output_specs(graph: fx.Graph, exported: ExportedProgram) -> list[OutputSpec]:
    """The results' specs with the names of the nodes that compute them now."""
    results: Any = graph.output_node().args[0]
    return [
        OutputSpec(spec.kind, TensorArgument(result.name), spec.target)
        if isinstance(spec.arg, TensorArgument)
        else spec
        for result, spec in zip(results, exported.graph_signature.output_specs, strict=True)
    ]


def _attribute(model: fx.GraphModule, target: Any) -> Any:
    value: Any = model
    for part in str(target).split("."):
        value = getattr(value, part)
    return value


def _submodules(model: fx.GraphModule) -> torch.nn.Module:
    """The graphs that a graph calls, by name."""
    root = torch.nn.Module()
    for node in model.graph.nodes:
        if node.op == "get_attr":
            root.add_module(str(node.target), _attribute(model, node.target))
    return root
