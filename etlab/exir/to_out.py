"""From an edge graph to a schedule: each operator becomes a call of its out variant."""

import operator as python_operator
import warnings
from collections.abc import Collection, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import HigherOrderOperator
from torch.export.graph_signature import ConstantArgument

from etlab.errors import LoweringError, UnsupportedOperatorError
from etlab.exir import assertions
from etlab.exir.control_flow import ControlFlow
from etlab.exir.edge import EdgeGraph, InputKind, OutputKind
from etlab.exir.emit.scalar_type import EXECUTABLE_DTYPES
from etlab.exir.in_place import functionally, in_place_calls
from etlab.exir.ops import (
    CLONE_DIM_ORDER,
    COPY_INTO,
    PRIM_OPERATORS,
    OutVariant,
    find_out_variant,
    is_custom_namespace,
    scalar_overload,
)
from etlab.exir.partition.delegate import executorch_call_delegate
from etlab.exir.provenance import source_place
from etlab.exir.schedule import Call, Role, Schedule, Value
from etlab.exir.specs import Bounds, TensorSpec

_SCALAR_TENSOR = find_out_variant(torch.ops.aten.scalar_tensor.default)
_CONTROL_FLOW = {"cond": "cond", "map_impl": "map", "scan": "scan", "while_loop": "while_loop"}
_CONSTANT_KINDS = (InputKind.PARAMETER, InputKind.BUFFER, InputKind.CONSTANT_TENSOR)


def schedule_method(
    graph: EdgeGraph,
    *,
    extended_operators: bool = False,
    shared_state: Collection[str] = (),
) -> Schedule:
    """Make the schedule of a method; the graph stays as it is.

    Args:
        graph: a functional graph of core operators.
        extended_operators: allow operators that the official runtime has no kernel for.
        shared_state: names of buffers that are state because another method writes them.

    Raises:
        UnsupportedOperatorError: operators without an out variant or without a kernel, all of them.
        LoweringError: the graph has something else that no program can hold.
    """
    return _Scheduler(graph, extended_operators, shared_state).run()


class _Scheduler:
    def __init__(
        self, graph: EdgeGraph, extended_operators: bool, shared_state: Collection[str]
    ) -> None:
        self._graph = graph
        self._shared_state = shared_state
        self._extended = extended_operators
        self._submodules = graph.submodules
        self._bounds = Bounds(graph.range_constraints)
        self._values: dict[fx.Node, Any] = {}
        self._scalars: dict[tuple[Any, torch.dtype], Value] = {}
        self._ordered: dict[tuple[Value, tuple[int, ...]], Value] = {}
        self._refused: list[str] = []
        self._warned: set[str] = set()
        self._schedule = Schedule(graph.name, in_spec=graph.in_spec, out_spec=graph.out_spec)

    def run(self) -> Schedule:
        placeholders = iter(self._graph.inputs)
        changed = {
            (spec.kind, spec.target) for spec in self._graph.outputs if spec.target is not None
        }
        for node in self._graph.graph.nodes:
            if node.op == "placeholder":
                self._placeholder(node, next(placeholders), changed)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                self._output(node)
        if self._refused:
            raise UnsupportedOperatorError(
                f"method '{self._graph.name}': {len(self._refused)} operator calls or tensors"
                " cannot be stored in a program:\n  " + "\n  ".join(self._refused) + "\nDecompose"
                " operators, give them to a backend, or pass"
                " ExecutorchBackendConfig(extended_operators=True) for those that only etlab's"
                " runtime has; convert tensors to a dtype with kernels before the export."
            )
        return self._schedule

    def _placeholder(self, node: fx.Node, spec: Any, changed: set[tuple[Any, Any]]) -> None:
        what = f"input '{node.name}'"
        value = Value(node.name, Role.INPUT, node=node, target=spec.target)
        if spec.kind in _CONSTANT_KINDS:
            data = self._graph.tensors.get(spec.target)
            if data is None:
                raise LoweringError(f"tensor '{spec.target}' of {what} is not in the graph")
            is_state = (OutputKind.BUFFER_MUTATION, spec.target) in changed or (
                spec.kind is InputKind.BUFFER and spec.target in self._shared_state
            )
            value.role = Role.STATE if is_state else Role.CONSTANT
            value.data = data.detach()
            value.spec = self._spec_of(value.data, node, f"tensor '{spec.target}'")
        elif spec.kind is InputKind.USER_INPUT:
            example = node.meta.get("val")
            if isinstance(example, torch.Tensor):
                value.spec = self._spec_of(example, node, what)
                value.is_planned = (OutputKind.USER_INPUT_MUTATION, node.name) not in changed
            else:
                value.number = _number_of(example)
            self._schedule.inputs.append(value)
        else:
            raise LoweringError(
                f"{what} is a {spec.kind.name.lower()}, which no program can hold; remove it from"
                " the model's interface"
            )
        self._values[node] = value

    def _call(self, node: fx.Node) -> None:
        target = node.target
        if target in assertions.KEPT:
            self._schedule.calls += assertions.assertion_calls(node, self._argument(node.args[0]))
            return
        if target is python_operator.getitem:
            source, index = node.args
            assert isinstance(source, fx.Node)
            if source in self._values:
                self._values[node] = self._values[source][index]
            return
        if target is executorch_call_delegate:
            self._delegate(node)
        elif target in PRIM_OPERATORS:
            self._prim(node)
        elif target is functionally:
            arguments = [self._argument(argument) for argument in node.args[1:]]
            results = list(self._results_of(node))
            self._schedule.calls += in_place_calls(self._graph, node, arguments, results)
            self._values[node] = tuple(results)
        elif isinstance(target, torch._ops.OpOverload):
            self._operator(node, target)
        elif isinstance(target, HigherOrderOperator) and target._name in _CONTROL_FLOW:
            self._control_flow(node, _CONTROL_FLOW[target._name])
        else:
            self._refuse(node, "is no operator of a program")
            self._values[node] = self._results_of(node)

    def _operator(self, node: fx.Node, target: torch._ops.OpOverload) -> None:
        if not node.users:
            return  # functional, so nobody can see that it did not run
        variant = find_out_variant(target)
        bound = variant.bind(node) if variant is not None else []
        if variant is not None and _has_number_for_tensor(variant, bound):
            overload = scalar_overload(target)
            by_scalar = find_out_variant(overload) if overload is not None else None
            if by_scalar is not None:
                variant, bound = by_scalar, by_scalar.bind(node)
        if variant is None:
            self._refuse(node, "has no out variant")
            self._values[node] = self._results_of(node)
            return
        if not variant.is_official and not is_custom_namespace(variant.name.split("::")[0]):
            self._beyond_official(node, variant)
        results = self._results_of(node)
        self._values[node] = results
        outputs = list(results) if isinstance(results, tuple) else [results]
        arguments: list[Any] = []
        remaining = list(outputs)
        for argument, value in zip(variant.arguments, bound, strict=True):
            if argument.is_out:
                arguments.append(remaining if argument.is_list else remaining.pop(0))
            elif argument.name == "dim_order" and variant.name.startswith("dim_order_ops::"):
                arguments.append(list(outputs[0].spec.dim_order))
            elif argument.base == "Tensor" and not argument.is_list and _is_number(value):
                arguments.append(self._scalar(value, node))
            else:
                arguments.append(self._argument(value))
        self._schedule.calls.append(Call(variant, arguments, outputs, node))

    def _control_flow(self, node: fx.Node, kind: str) -> None:
        results = self._results_of(node)
        self._values[node] = results
        values = [self._operand(argument) for argument in node.args]
        flow = ControlFlow(self._schedule.calls, self._inline)
        getattr(flow, kind)(node, values, results if isinstance(results, tuple) else (results,))

    def _operand(self, argument: Any) -> Any:
        """An operand of control flow; a body stays the name of its graph."""
        if isinstance(argument, fx.Node) and argument.op == "get_attr":
            return str(argument.target)
        if isinstance(argument, tuple | list):
            return [self._operand(item) for item in argument]
        return self._argument(argument)

    def _inline(self, body: str, operands: Sequence[Any]) -> list[Any]:
        """Schedule a body in place; returns what it computes."""
        graph, outer = self._submodules[body], self._submodules
        self._submodules = {**outer, **graph.submodules}
        given = iter(operands)
        outputs: list[Any] = []
        for node in graph.graph.nodes:
            if node.op == "placeholder":
                self._values[node] = next(given)
            elif node.op == "call_function":
                self._call(node)
            elif node.op == "output":
                outputs = [self._argument(item) for item in node.args[0]]
        self._submodules = outer
        return outputs

    def _prim(self, node: fx.Node) -> None:
        result = Value(node.name, Role.NUMBER, number=_zero_of(node.meta.get("val")), node=node)
        self._values[node] = result
        arguments = [self._argument(argument) for argument in node.args]
        operator = PRIM_OPERATORS[node.target]  # type: ignore[index]
        self._schedule.calls.append(Call(operator, arguments, [result], node))

    def _delegate(self, node: fx.Node) -> None:
        attribute = node.args[0]
        assert isinstance(attribute, fx.Node)
        module = self._submodules[str(attribute.target)]
        results = self._results_of(node)
        self._values[node] = results
        outputs = list(results) if isinstance(results, tuple) else [results]
        arguments = [self._argument(argument) for argument in node.args[1:]]
        self._schedule.calls.append(Call(None, arguments, outputs, node, module))

    def _results_of(self, node: fx.Node) -> Any:
        """The node's results as values: one, or a tuple."""
        example = node.meta["val"]
        if isinstance(example, tuple | list):
            return tuple(
                self._result(node, f"{node.name}_{index}" if len(example) > 1 else node.name, item)
                for index, item in enumerate(example)
            )
        return self._result(node, node.name, example)

    def _result(self, node: fx.Node, name: str, example: Any) -> Value:
        if isinstance(example, torch.Tensor):
            spec = self._spec_of(example, node, f"result of '{node.name}'")
            return Value(name, Role.RESULT, spec=spec, node=node)
        return Value(name, Role.NUMBER, number=_zero_of(example), node=node)

    def _spec_of(self, tensor: torch.Tensor, node: fx.Node, what: str) -> TensorSpec:
        """The spec of a tensor; one of a dtype without kernels is added to what is refused."""
        if tensor.dtype not in EXECUTABLE_DTYPES:
            dtype = str(tensor.dtype).removeprefix("torch.")
            self._refused.append(
                f"{what} has dtype {dtype}, which no kernel takes{_source_line(node)}"
            )
        return self._bounds.spec_of(tensor, what)

    def _argument(self, argument: Any) -> Any:
        if isinstance(argument, fx.Node):
            return self._values[argument]
        if isinstance(argument, tuple | list):
            return [self._argument(item) for item in argument]
        return argument

    def _scalar(self, number: Any, node: fx.Node) -> Value:
        """A rank-0 tensor for a number where only a tensor can stand."""
        dtype = _operand_dtype(node)
        if isinstance(number, fx.Node):
            zero = _zero_of(number.meta.get("val"))
            spec = TensorSpec(torch.result_type(torch.empty(1, dtype=dtype), zero), (), ())
            value = Value(f"{number.name}_tensor", Role.RESULT, spec=spec, node=node)
            arguments = [self._values[number], value]
            self._schedule.calls.append(Call(_SCALAR_TENSOR, arguments, [value], node))
            return value
        dtype = torch.result_type(torch.empty(1, dtype=dtype), number)
        key = (repr(number), dtype)
        if key not in self._scalars:
            data = torch.tensor(number, dtype=dtype)
            spec = TensorSpec(dtype, (), ())
            name = f"_scalar_{len(self._scalars)}"
            self._scalars[key] = Value(name, Role.CONSTANT, spec=spec, data=data)
        return self._scalars[key]

    def _output(self, node: fx.Node) -> None:
        results = node.args[0]
        assert isinstance(results, tuple | list)
        writes: list[tuple[Value, Value, Any]] = []
        targets = {
            spec.target: place
            for place, spec in zip(self._placeholders(), self._graph.inputs, strict=True)
            if spec.target is not None
        }
        orders = self._graph.output_orders or (None,) * len(results)
        for spec, result, order in zip(self._graph.outputs, results, orders, strict=True):
            if spec.kind is OutputKind.BUFFER_MUTATION:
                writes.append((targets[str(spec.target)], self._argument(result), result))
            elif spec.kind is OutputKind.USER_INPUT_MUTATION:
                changed = next(v for v in self._schedule.inputs if v.name == spec.target)
                writes.append((changed, self._argument(result), result))
            elif spec.kind is OutputKind.USER_OUTPUT:
                given = result
                if result is None and isinstance(spec.arg, ConstantArgument):
                    given = spec.arg.value
                self._schedule.outputs.append(self._laid_out(given, order))
            else:
                raise LoweringError(
                    f"output '{spec.arg}' is a {spec.kind.name.lower()}, which no program can hold"
                )
        for place, value, result in writes:
            if place is not value:
                source = result if isinstance(result, fx.Node) else None
                self._schedule.calls.append(Call(COPY_INTO, [place, value, False], [place], source))

    def _laid_out(self, result: Any, order: tuple[int, ...] | None) -> Any:
        """An output in the order of dimensions that eager returns it in."""
        value = self._argument(result)
        spec = getattr(value, "spec", None)
        if order is None or spec is None or spec.dim_order == order:
            return value
        key = (value, order)
        if key not in self._ordered:
            own = TensorSpec(spec.dtype, spec.sizes, order, spec.dynamism)
            copy = Value(f"{value.name}_ordered", Role.RESULT, own, node=result)
            arguments = [value, False, list(order), copy]
            self._schedule.calls.append(Call(CLONE_DIM_ORDER, arguments, [copy], result))
            self._ordered[key] = copy
        return self._ordered[key]

    def _placeholders(self) -> list[Value]:
        return [self._values[node] for node in self._graph.graph.nodes if node.op == "placeholder"]

    def _beyond_official(self, node: fx.Node, variant: OutVariant) -> None:
        if self._extended:
            if variant.full_name in self._warned:
                return
            self._warned.add(variant.full_name)
            warnings.warn(
                f"{variant.full_name} has no kernel in the official runtime; the program will only"
                " run where etlab's runtime does",
                stacklevel=2,
            )
        else:
            self._refuse(node, f"({variant.full_name}) has no kernel in the official runtime")

    def _refuse(self, node: fx.Node, reason: str) -> None:
        self._refused.append(f"{node.target} at node '{node.name}' {reason}{_source_line(node)}")
        self._values.setdefault(node, None)


def _operand_dtype(node: fx.Node) -> torch.dtype:
    """The dtype that a call computes in: of its result, or of what it compares."""
    example = node.meta["val"]
    operands = [argument.meta.get("val") for argument in node.all_input_nodes]
    dtypes = [item.dtype for item in (example, *operands) if isinstance(item, torch.Tensor)]
    return next((dtype for dtype in dtypes if dtype != torch.bool), torch.bool)


def _is_number(value: Any) -> bool:
    """Whether an argument is a number, now or at run time."""
    if isinstance(value, fx.Node):
        return not isinstance(value.meta.get("val"), torch.Tensor | tuple | list)
    return isinstance(value, int | float | bool)


def _has_number_for_tensor(variant: OutVariant, bound: list[Any]) -> bool:
    return any(
        argument.base == "Tensor" and not argument.is_list and _is_number(value)
        for argument, value in zip(variant.arguments, bound, strict=True)
    )


def _number_of(example: Any) -> Any:
    """What an input that is no tensor is stored as."""
    if isinstance(example, torch.SymInt | torch.SymFloat | torch.SymBool):
        return _zero_of(example)
    return example


def _zero_of(example: Any) -> Any:
    if isinstance(example, torch.SymBool | bool):
        return False
    if isinstance(example, torch.SymFloat | float):
        return 0.0
    return 0


def _source_line(node: fx.Node) -> str:
    """The line of the model that a node comes from, as ` (file:line: code)`."""
    file, line, text = source_place(node)
    return f" ({file}:{line}: {text})" if file else ""
