"""`decompose`: an exported program becomes an `EdgeGraph`."""

import warnings
from collections.abc import Collection, Mapping
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram
from torch.export.graph_signature import (
    ConstantArgument,
    InputKind,
    InputSpec,
    OutputKind,
    OutputSpec,
    TensorArgument,
)
from torch.utils._python_dispatch import is_traceable_wrapper_subclass

from etlab.errors import LoweringError
from etlab.exir.decompose.aliases import BeyondWalkError
from etlab.exir.decompose.anew import STATE, specs_with_constants
from etlab.exir.decompose.operators import is_write
from etlab.exir.decompose.unserved import Unsupported, unserved_error
from etlab.exir.decompose.walk import NodeFilter, Shared, Walk
from etlab.exir.edge import EdgeGraph
from etlab.exir.fakes import fake_mode_of
from etlab.exir.graph import CONSTANT_TAG, renamed
from etlab.exir.specs import channels_last_order

aten = torch.ops.aten


def decompose(
    program: ExportedProgram,
    name: str = "forward",
    *,
    keep: Mapping[OpOverload, NodeFilter | None] | None = None,
    allow_unsupported: Collection[str] | None = (),
) -> EdgeGraph:
    """Bring an exported program to functional core ATen, in one walk.

    Args:
        program: what `torch.export.export` returned; it is not changed.
        name: the method's name.
        keep: operators to leave whole, because a backend takes them, with the filter that says at
            which nodes (None: at all).
        allow_unsupported: names of operators ("aten.foo.default") that may stay although nothing
            serves them; None allows all.

    Raises:
        UnsupportedOperatorError: operators that nothing serves, all of them.
        LoweringError: the program cannot be brought over.
    """
    try:
        edge, unsupported = _Conversion(program, name, keep or {}).run()
    except BeyondWalkError as reason:
        warnings.warn(
            f"method '{name}': {reason}, which etlab leaves to torch's own functionalization; "
            "falling back to it takes seconds",
            stacklevel=2,
        )
        functional = program.run_decompositions({})
        try:
            edge, unsupported = _Conversion(functional, name, keep or {}).run()
        except BeyondWalkError as left:
            raise LoweringError(
                f"method '{name}': {left}, after torch's functionalization, too; write it with"
                " operators that return new tensors"
            ) from None
    if allow_unsupported is not None:
        refused = [u for u in unsupported if u.operator not in allow_unsupported]
        if refused:
            raise unserved_error(name, refused)
    return edge


class _Conversion:
    """One program on its way: placeholders, walk, outputs."""

    def __init__(
        self, program: ExportedProgram, name: str, keep: Mapping[OpOverload, NodeFilter | None]
    ) -> None:
        self.program = program
        self.name = name
        self.nodes = list(program.graph_module.graph.nodes)
        self.shared = Shared(
            fake_mode_of(program.graph_module.graph), keep, _mutates(program.graph_module)
        )
        self.main = Walk(self.shared)
        self.env: dict[fx.Node, Any] = {}
        self.handles: list[fx.Node] = []
        self.inputs: list[InputSpec] = []
        self.tensors: dict[str, torch.Tensor] = {}

    def run(self) -> tuple[EdgeGraph, list[Unsupported]]:
        self._placeholders()
        (results,) = self.main.walk(self.nodes, self.env, self.program.graph_module)
        outputs = self._outputs(results)
        inputs = specs_with_constants(self.main, self.inputs, self.tensors)
        program = self.program
        edge = EdgeGraph(
            name=self.name,
            graph=self.main.graph,
            inputs=inputs,
            outputs=outputs,
            tensors=self.tensors,
            range_constraints=dict(program.range_constraints),
            in_spec=program.call_spec.in_spec,
            out_spec=program.call_spec.out_spec,
            submodules=self.main.submodules,
            example_inputs=program.example_inputs,
            output_orders=self._orders(outputs),
        )
        return edge, self.shared.unsupported

    def _placeholders(self) -> None:
        specs = self.program.graph_signature.input_specs
        olds = [node for node in self.nodes if node.op == "placeholder"]
        by_storage: dict[Any, fx.Node] = {}
        self.main.provenance = {}
        for old, spec in zip(olds, specs, strict=True):
            if spec.kind in (InputKind.TOKEN, InputKind.CUSTOM_OBJ):
                raise LoweringError(
                    f"method '{self.name}': input '{old.name}' is a {spec.kind.name}; only "
                    "tensors and numbers can be lowered"
                )
            val = old.meta.get("val")
            if spec.kind in STATE:
                tensor = self._tensor(spec)
                # A wrapper (quantized weights) has no memory of its own: all say address 0.
                is_wrapper = is_traceable_wrapper_subclass(tensor)
                if self.shared.mutates and tensor.numel() and not is_wrapper:
                    place = (tensor.data_ptr(), tensor.shape, tensor.stride(), tensor.dtype)
                    if place in by_storage:
                        self.env[old] = by_storage[place]
                        continue
                else:
                    place = None
                if not is_wrapper:
                    tensor = tensor.detach().contiguous()
                self.tensors[str(spec.target)] = tensor
                packed = val if val.is_contiguous() else self.main.fake(val.shape, val.dtype)
                new = self.main.placeholder(old.name, packed, is_user_input=False)
                self.main.take_layout(new, val)
                self.main.tensors[new] = tensor
                self.env[old] = new
                by_storage[place] = new
            else:
                new = self.main.placeholder(old.name, val, is_user_input=True)
                self.env[old] = new
            new.meta["from_node"] = old.name
            tag = self._constant_tag(old, spec)
            if tag is not None:
                new.meta[CONSTANT_TAG] = tag
            self.handles.append(new)
            self.inputs.append(_renamed(spec, new.name))
        # Only after the last placeholder may other nodes come.
        for old, spec in zip(olds, specs, strict=True):
            if spec.kind is InputKind.USER_INPUT:
                copied = self._contiguous_input(self.env[old])
                self.main.take_layout(copied, old.meta.get("val"))
                if copied is not self.env[old]:
                    self.handles[self.handles.index(self.env[old])] = copied
                    self.env[old] = copied

    def _contiguous_input(self, placeholder: fx.Node) -> fx.Node:
        """An input in another layout is copied to the contiguous one first."""
        val = placeholder.meta.get("val")
        if not isinstance(val, torch.Tensor) or val._has_symbolic_sizes_strides:
            return placeholder
        if val.is_contiguous():
            return placeholder
        wanted = self.main.fake(val.shape, val.dtype)
        if not _is_dense(val):
            placeholder.meta["val"] = wanted
            return placeholder
        self.main.provenance = {"from_node": placeholder.name, "debug_handle": 0}
        return self.main.emit(
            aten.clone.default, placeholder, val=wanted, memory_format=torch.contiguous_format
        )

    def _constant_tag(self, old: fx.Node, spec: InputSpec) -> str | None:
        """The file that a constant of delegates is to be stored in, if it was said."""
        if spec.kind not in STATE:
            return None
        tag = (old.meta.get("custom") or {}).get(CONSTANT_TAG)
        return tag or getattr(self._tensor(spec), CONSTANT_TAG, None)

    def _tensor(self, spec: InputSpec) -> torch.Tensor:
        target = str(spec.target)
        state = self.program.state_dict
        found = state[target] if target in state else self.program.constants.get(target)
        if not isinstance(found, torch.Tensor):
            raise LoweringError(f"method '{self.name}': no tensor is stored under '{target}'")
        return found

    def _outputs(self, results: Any) -> list[OutputSpec]:
        walk = self.main
        specs = self.program.graph_signature.output_specs
        nodes: list[Any] = []
        outputs: list[OutputSpec] = []
        declared = [spec.target for spec in specs if spec.kind is not OutputKind.USER_OUTPUT]
        for handle, spec in zip(self.handles, self.inputs, strict=True):
            if not walk.aliases.was_written(handle):
                continue
            kind, target = _mutation(spec)
            if target in declared:
                raise LoweringError(f"'{target}' is written both in the graph and by its signature")
            value = walk.read(handle)
            nodes.append(value)
            outputs.append(OutputSpec(kind, TensorArgument(value.name), target))
        for spec, handle in zip(specs, results, strict=True):
            value = walk.read(handle)
            nodes.append(value)
            argument = (
                TensorArgument(value.name)
                if isinstance(value, fx.Node) and isinstance(spec.arg, TensorArgument)
                else spec.arg
            )
            if isinstance(value, fx.Node) and not isinstance(spec.arg, ConstantArgument):
                argument = type(spec.arg)(value.name)
            outputs.append(OutputSpec(spec.kind, argument, spec.target))
        output = walk.graph.output(tuple(nodes))
        output.meta = {"val": tuple(getattr(n, "meta", {}).get("val", n) for n in nodes)}
        return outputs

    def _orders(self, outputs: list[OutputSpec]) -> tuple[tuple[int, ...] | None, ...]:
        """Eager's layout of the outputs that it returns with the channels innermost."""
        returned: Any = self.nodes[-1].args[0]
        vals = [getattr(node, "meta", {}).get("val") for node in returned]
        # Writes found on the way stand in front of what the program returned.
        vals = [None] * (len(outputs) - len(vals)) + vals
        orders = tuple(
            channels_last_order(val)
            if isinstance(val, torch.Tensor) and spec.kind is OutputKind.USER_OUTPUT
            else None
            for val, spec in zip(vals, outputs, strict=True)
        )
        return orders if any(orders) else ()


def _renamed(spec: InputSpec, name: str) -> InputSpec:
    if spec.arg.name == name or isinstance(spec.arg, ConstantArgument):
        return spec
    return InputSpec(spec.kind, renamed(spec.arg, name), spec.target, spec.persistent)


def _mutation(spec: InputSpec) -> tuple[OutputKind, str]:
    if spec.kind is InputKind.USER_INPUT:
        return OutputKind.USER_INPUT_MUTATION, spec.arg.name
    if spec.kind is InputKind.BUFFER:
        return OutputKind.BUFFER_MUTATION, str(spec.target)
    raise LoweringError(
        f"'{spec.target}' is a {spec.kind.name.lower()} and is written in forward(); "
        "register it as a buffer to make it state"
    )


def _is_dense(val: torch.Tensor) -> bool:
    """Whether the elements fill the memory without gaps or overlaps."""
    expected = 1
    for stride, size in sorted(zip(val.stride(), val.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size if size != 1 else 1
    return True


def _mutates(module: fx.GraphModule) -> bool:
    """Whether any node of a graph, or of the bodies in it, writes a tensor."""
    for inner in module.modules():
        if not isinstance(inner, fx.GraphModule):
            continue
        for node in inner.graph.nodes:
            target = node.target
            if isinstance(target, OpOverload) and is_write(target):
                return True
            if target is aten.batch_norm.default and node.args[5]:
                return True
    return False
