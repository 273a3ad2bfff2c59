"""Cases of the kernel tests as methods of a program: one operator call each.

The tensors of a case are the method's inputs, what the operator writes or returns its outputs.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from kernels.case import Case

from etlab.exir.emit.file import assemble
from etlab.exir.emit.schema import (
    AllocationDetails,
    Bool,
    BoolList,
    Chain,
    Double,
    DoubleList,
    EValue,
    ExecutionPlan,
    Instruction,
    Int,
    IntList,
    KernelCall,
    KernelTypes,
    Null,
    Operator,
    OptionalTensorList,
    Program,
    String,
    Tensor,
    TensorList,
)
from etlab.runtime import scalar_type_of
from etlab.testing import KernelOperator, assert_same

_ALIGNMENT = 64


@dataclass
class CaseMethod:
    """One case as a method.

    Attributes:
        name: of the method.
        case: what it calls.
        inputs: the tensors to give.
        expected: what eager leaves in the outputs.
    """

    name: str
    case: Case
    inputs: list[torch.Tensor] = field(default_factory=list)
    expected: list[Any] = field(default_factory=list)
    _values: list[KernelTypes] = field(default_factory=list)
    _outputs: list[int] = field(default_factory=list)
    _arguments: list[int] = field(default_factory=list)
    _arena: int = 0

    def __post_init__(self) -> None:
        operator = KernelOperator.resolve(self.case.operator)
        given = [_clone(arg) for arg in self.case.args]
        arguments = _arguments_in_order(operator, given, self.case.kwargs)
        self._arguments = [self._add_argument(*pair) for pair in arguments]
        mutated = operator.mutated_positions
        for position in mutated:
            self._outputs.append(self._arguments[position])
        result = self._eager(operator, given)  # after the inputs were kept: it may write to them
        self.expected = [given[position] for position in mutated]
        if operator.returns_number:
            self._outputs.append(self._add(_number(result)))
            self.expected.append(result)
        elif operator.out_arguments:
            tensors = list(result) if isinstance(result, tuple | list) else [result]
            places = [self._add_output(tensor) for tensor in tensors]
            is_list = "List" in str(operator.out_arguments[0].real_type)
            self._arguments += [self._add(TensorList(tuple(places)))] if is_list else places
            self._outputs += places
            self.expected += tensors
        # A call ends with what it returns: the value that it writes, or the list of them.
        returned = self._outputs
        self._arguments.append(
            returned[0] if len(returned) == 1 else self._add(TensorList(tuple(returned)))
        )

    def _eager(self, operator: KernelOperator, args: Sequence[Any]) -> Any:
        case = self.case
        if case.reference is not None:
            result = case.reference(*args, **case.kwargs)
        elif operator.mutated_positions and not operator.out_arguments:
            assert operator.overload is not None
            result = operator.overload(*args, **case.kwargs)
        elif case.out_dtype is not None:
            result = operator.eager_out(args, case.kwargs, case.out_dtype)
        else:
            result = operator.eager(args, case.kwargs)
        if case.out_dtype is not None and isinstance(result, torch.Tensor):
            result = result.to(case.out_dtype)
        return result

    def plan(self) -> ExecutionPlan:
        """The method as the file has it."""
        name, _, overload = self.case.operator_name.partition(".")
        inputs = range(len(self._values))
        is_input = [
            isinstance(value, Tensor) and value.allocation_info is None for value in self._values
        ]
        call = KernelCall(0, tuple(self._arguments))
        return ExecutionPlan(
            name=self.name,
            values=tuple(EValue(value) for value in self._values),
            inputs=tuple(index for index in inputs if is_input[index]),
            outputs=tuple(self._outputs),
            chains=(Chain(instructions=(Instruction(call),)),),
            operators=(Operator(name, overload),),
            delegates=(),
            non_const_buffer_sizes=(0, self._arena),
        )

    def check(self, actual: Sequence[Any]) -> None:
        """Assert that a device's outputs are eager's."""
        assert len(actual) == len(self.expected)
        for index, (found, wanted) in enumerate(zip(actual, self.expected, strict=True)):
            if isinstance(wanted, torch.Tensor):
                assert_same(found, wanted.detach(), f"{self.case} output {index}")
            else:
                assert found == wanted or (found != found and wanted != wanted), f"{self.case}"

    def _add(self, value: KernelTypes) -> int:
        self._values.append(value)
        return len(self._values) - 1

    def _add_input(self, tensor: torch.Tensor) -> int:
        self.inputs.append(tensor.detach().clone())
        return self._add(_tensor(tensor, None))

    def _add_output(self, tensor: torch.Tensor) -> int:
        place = AllocationDetails(1, self._arena)
        size = max(tensor.numel() * tensor.element_size(), 1)
        self._arena += -(-size // _ALIGNMENT) * _ALIGNMENT
        return self._add(_tensor(tensor, place))

    def _add_argument(self, kind: str, value: Any) -> int:
        if value is None:
            return self._add(Null())
        if isinstance(value, torch.Tensor):
            return self._add_input(value)
        if isinstance(value, list | tuple):
            return self._add_list(kind, value)
        if isinstance(value, torch.dtype):
            return self._add(Int(scalar_type_of(value)))
        if isinstance(value, torch.memory_format):
            known = [torch.contiguous_format, torch.preserve_format, torch.channels_last]
            return self._add(Int(known.index(value)))
        if isinstance(value, torch.layout | torch.device):
            return self._add(Int(0))
        if "List[" in kind:  # int[2] given as one int
            return self._add_list(kind, [value])
        if kind.removeprefix("Optional[").startswith("float"):
            return self._add(Double(float(value)))
        return self._add(_number(value))

    def _add_list(self, kind: str, items: Sequence[Any]) -> int:
        if "Tensor" in kind:
            places = tuple(-1 if item is None else self._add_input(item) for item in items)
            optional = -1 in places or "Optional[Tensor]" in kind
            return self._add(OptionalTensorList(places) if optional else TensorList(places))
        if "float" in kind:
            return self._add(DoubleList(tuple(float(item) for item in items)))
        if "bool" in kind:
            return self._add(BoolList(tuple(bool(item) for item in items)))
        return self._add(IntList(tuple(self._add(Int(int(item))) for item in items)))


def program_of(methods: Sequence[CaseMethod]) -> bytes:
    """The methods as a .pte file."""
    program = Program(execution_plan=tuple(method.plan() for method in methods))
    image, _ = assemble(program, [])
    return image.to_bytes()


def _clone(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.clone() if _is_dense(value) else value.contiguous()
    if isinstance(value, list | tuple):
        return [_clone(item) for item in value]
    return value


def _arguments_in_order(
    operator: KernelOperator, args: Sequence[Any], kwargs: Mapping[str, Any]
) -> list[tuple[str, Any]]:
    """(type, value) of every argument that is no output, in schema order."""
    remaining, named = list(args), dict(kwargs)
    found = []
    for argument in operator.schema.arguments:
        if argument.is_out:
            continue
        if remaining and not argument.kwarg_only:
            value = remaining.pop(0)
        else:
            value = named.pop(argument.name, argument.default_value)
        found.append((str(argument.real_type), value))
    return found


def _number(value: Any) -> KernelTypes:
    if isinstance(value, bool):
        return Bool(value)
    if isinstance(value, int):
        return Int(value)
    return String(value) if isinstance(value, str) else Double(float(value))


def _is_dense(tensor: torch.Tensor) -> bool:
    expected = 1
    for stride, size in sorted(zip(tensor.stride(), tensor.shape, strict=True)):
        if size != 1 and stride != expected:
            return False
        expected *= size
    return True


def _tensor(tensor: torch.Tensor, place: AllocationDetails | None) -> Tensor:
    order = list(range(tensor.dim()))
    if _is_dense(tensor):
        order.sort(key=lambda dim: -tensor.stride(dim))
    return Tensor(
        scalar_type=scalar_type_of(tensor.dtype),
        sizes=tuple(tensor.shape),
        dim_order=tuple(order),
        allocation_info=place,
    )
