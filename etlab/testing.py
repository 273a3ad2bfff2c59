"""Helpers of the tests: one a kind of test, so that a test is a list of inputs.

Those for graphs and passes are in `etlab.testing_graphs`.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from etlab.errors import InvalidArgumentError
from etlab.testing_guards import GuardedOutput

# Largest accepted difference to eager by dtype, (absolute, relative); other dtypes compare bits.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-10, 1e-9),
    torch.float32: (1e-5, 1e-5),
    torch.complex128: (1e-10, 1e-9),
    torch.complex64: (1e-5, 1e-5),
    torch.float16: (1e-3, 2e-3),
    torch.bfloat16: (1e-2, 1.6e-2),
}

_SHOWN_ELEMENTS = 5  # of those that differ, in a message


@dataclass(frozen=True, slots=True)
class KernelOperator:
    """An operator as the kernel tests see it: its name, its schema, and eager's overload of it."""

    name: str
    schema: Any
    overload: torch._ops.OpOverload | None

    @classmethod
    def resolve(cls, operator: "torch._ops.OpOverload | str") -> "KernelOperator":
        """Find an operator by overload, by name (`"aten::add.out"`) or by a full schema.

        A full schema (`"executorch_prim::add.Scalar(Scalar a, Scalar b) -> Scalar"`) is for
        operators that torch does not know; they need a reference in `check_kernel`.
        """
        overload: torch._ops.OpOverload | None = None
        if not isinstance(operator, str):
            overload, schema = operator, operator._schema
        elif "(" in operator:
            # ExecuTorch spells the overload "default", which torch leaves out of names.
            schema = torch._C.parse_schema(operator.replace(".default(", "(", 1))
            return cls(operator.partition("(")[0], schema, None)
        else:
            namespace, _, rest = operator.partition("::")
            base, _, overload_name = rest.partition(".")
            packet = getattr(getattr(torch.ops, namespace), base)
            overload = getattr(packet, overload_name or "default")
            schema = overload._schema
        suffix = f".{schema.overload_name}" if schema.overload_name else ""
        return cls(f"{schema.name}{suffix}", schema, overload)

    @property
    def out_arguments(self) -> list[Any]:
        """The arguments that are outputs, in schema order."""
        return [argument for argument in self.schema.arguments if argument.is_out]

    @property
    def mutated_positions(self) -> list[int]:
        """Positions of the arguments written in place that are not `out` arguments."""
        return [
            index
            for index, argument in enumerate(self.schema.arguments)
            if argument.alias_info is not None
            and argument.alias_info.is_write
            and not argument.is_out
        ]

    @property
    def returns_number(self) -> bool:
        """Whether the operator is symbolic: its result is a number, not a tensor."""
        returns = self.schema.returns
        return len(returns) == 1 and "Tensor" not in str(returns[0].real_type)

    def eager(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """What eager's functional twin computes; the out variant itself where there is none."""
        assert self.overload is not None, f"{self.name}: torch has no such operator"
        packet = self.overload.overloadpacket
        if self.out_arguments and packet.overloads() == [self.overload._overloadname]:
            return self.eager_out(args, kwargs, None)
        return packet(*args, **kwargs)

    def eager_out(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], dtype: torch.dtype | None
    ) -> Any:
        """What eager's out variant leaves in empty outputs of `dtype`."""
        assert self.overload is not None, f"{self.name}: torch has no such operator"
        outputs = {a.name: torch.empty(0, dtype=dtype) for a in self.out_arguments}
        return self.overload(*args, **kwargs, **outputs)


def _describe(tensor: torch.Tensor) -> tuple[int, int, list[int], list[int]]:
    from etlab.runtime import scalar_type_of

    return (
        tensor.data_ptr(),
        scalar_type_of(tensor.dtype),
        list(tensor.shape),
        list(tensor.stride()),
    )


def _native_argument(schema_type: str, value: Any) -> Any:
    """A value as the bindings take it, by the type that the operator's schema gives it."""
    from etlab.runtime import scalar_type_of

    if value is None:
        return None
    if isinstance(value, torch.Tensor):
        return _describe(value)
    if isinstance(value, torch.dtype):
        return scalar_type_of(value)
    if isinstance(value, torch.memory_format):
        return [torch.contiguous_format, torch.preserve_format, torch.channels_last].index(value)
    if isinstance(value, torch.layout | torch.device):
        return 0
    if isinstance(value, list | tuple):
        if "Tensor" in schema_type:
            return ("tensors", [None if item is None else _describe(item) for item in value])
        if "float" in schema_type:
            return ("floats", [float(item) for item in value])
        if "bool" in schema_type:
            return ("bools", [int(item) for item in value])
        return ("ints", [int(item) for item in value])
    if "List[" in schema_type and isinstance(value, int):  # int[2] given as one int
        return ("ints", [value])
    if schema_type.removeprefix("Optional[").startswith("float"):
        return float(value)
    return value


def native_arguments(
    operator: KernelOperator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    outputs: Sequence[torch.Tensor],
) -> list[Any]:
    """The values of a call as `_native.run_kernel` takes them, in schema order.

    Raises:
        InvalidArgumentError: arguments or outputs do not fit the schema.
    """
    values: list[Any] = []
    remaining, named, pending = list(args), dict(kwargs), list(outputs)
    for argument in operator.schema.arguments:
        if argument.is_out:
            if "List" in str(argument.real_type):  # a Tensor[] output takes all that are given
                values.append(_native_argument("List[Tensor]", pending))
                pending = []
                continue
            if not pending:
                raise InvalidArgumentError(f"{operator.name}: too few outputs given")
            values.append(_describe(pending.pop(0)))
            continue
        if remaining and not argument.kwarg_only:
            value = remaining.pop(0)
        else:
            value = named.pop(argument.name, argument.default_value)
        values.append(_native_argument(str(argument.real_type), value))
    if pending or remaining or named:
        raise InvalidArgumentError(f"{operator.name}: arguments or outputs left over")
    return values


def run_kernel(
    operator: torch._ops.OpOverload | str,
    *args: Any,
    outputs: Sequence[torch.Tensor] = (),
    allow_optimized: bool = True,
    **kwargs: Any,
) -> Any:
    """Run the native kernel of an operator on torch tensors.

    Args:
        operator: an out overload, for example `torch.ops.aten.relu.out`, its name, or a schema
            (see `KernelOperator.resolve`).
        *args: its arguments without the outputs, as eager takes them.
        outputs: dense tensors that the kernel writes, in schema order. Their memory must hold the
            result; the kernel may give them other sizes.
        allow_optimized: whether the optimized library may serve the call.
        **kwargs: keyword arguments without the outputs.

    Returns:
        The sizes of the outputs after the call; for a symbolic operator the number it returns.

    Raises:
        InvalidArgumentError: arguments or outputs do not fit the schema.
        EtlabError: whatever the kernel raises.
    """
    from etlab.runtime import _native

    resolved = KernelOperator.resolve(operator)
    values = native_arguments(resolved, args, kwargs, outputs)
    if resolved.returns_number:
        values.append(None)
    sizes, number = _native.run_kernel(resolved.name, values, allow_optimized)
    if resolved.returns_number:
        return number
    return list(sizes[len(sizes) - len(outputs) :])


def assert_same(actual: torch.Tensor, expected: torch.Tensor, what: str = "output") -> None:
    """Assert equal dtype, shape and values: bits for integers, `TOLERANCES` for floats."""
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, not {expected.shape}"
    if torch.equal(actual, expected):
        return
    if expected.dtype in TOLERANCES:
        absolute, relative = TOLERANCES[expected.dtype]
        agrees = torch.isclose(actual, expected, atol=absolute, rtol=relative, equal_nan=True)
    else:
        agrees = actual == expected
    wrong = torch.nonzero(~agrees)
    if len(wrong) == 0:
        return
    lines = [
        f"  {index}: {actual[tuple(index)].item()}, not {expected[tuple(index)].item()}"
        for index in wrong[:_SHOWN_ELEMENTS].tolist()
    ]
    head = f"{what}: {len(wrong)} of {expected.numel()} elements are wrong"
    raise AssertionError("\n".join([head, *lines]))


def _with_clones(operator: KernelOperator, args: Sequence[Any]) -> list[Any]:
    """The arguments, with clones of those that the operator writes in place."""
    return [
        arg.clone() if index in operator.mutated_positions else arg
        for index, arg in enumerate(args)
    ]


def _assert_same_writes(
    operator: KernelOperator, actual: Sequence[Any], wanted: Sequence[Any], library: str
) -> None:
    for index in operator.mutated_positions:
        assert_same(actual[index], wanted[index], f"{operator.name} [{library}] argument {index}")


def _check_out_variant(
    operator: KernelOperator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    wanted_args: Sequence[Any],
    expected: Sequence[torch.Tensor],
    library: str,
) -> None:
    exotic_layout = any(not tensor.is_contiguous() for tensor in expected)
    for follow_strides, is_bound in [(False, False), (False, True), (True, False)]:
        if follow_strides and not exotic_layout:
            continue
        outputs = [
            GuardedOutput(tensor, follow_strides=follow_strides, is_bound=is_bound)
            for tensor in expected
        ]
        given = _with_clones(operator, args)
        sizes = run_kernel(
            operator.overload or str(operator.schema),
            *given,
            outputs=[output.tensor for output in outputs],
            allow_optimized=library == "optimized",
            **kwargs,
        )
        for index, (output, size, want) in enumerate(zip(outputs, sizes, expected, strict=True)):
            what = f"{operator.name} [{library}] output {index}"
            what += " of dynamic size" if is_bound else ""
            what += f" with strides {list(want.stride())}" if follow_strides else ""
            assert_same(output.result(size, what), want, what)
        _assert_same_writes(operator, given, wanted_args, library)


def _check_in_place(
    operator: KernelOperator,
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    reference: Callable[..., Any] | None,
    library: str,
) -> None:
    judge = reference or operator.overload
    assert judge is not None, f"{operator.name}: torch has no such operator, give a reference"

    wanted, actual = _with_clones(operator, args), _with_clones(operator, args)
    judge(*wanted, **kwargs)
    run_kernel(
        operator.overload or str(operator.schema),
        *actual,
        allow_optimized=library == "optimized",
        **kwargs,
    )
    _assert_same_writes(operator, actual, wanted, library)


def check_kernel(
    operator: torch._ops.OpOverload | str,
    *args: Any,
    reference: Callable[..., Any] | None = None,
    out_dtype: torch.dtype | None = None,
    libraries: Sequence[str] = ("portable", "optimized"),
    **kwargs: Any,
) -> None:
    """Assert that the native kernels of `operator` compute what eager does.

    Out variants run with poisoned, guarded outputs of the exact size, of a larger size (a dynamic
    shape's upper bound) and, where eager's result is not contiguous, of eager's strides. In-place
    operators run on clones of what they write; symbolic ones return a number of the same type.

    Args:
        operator: an out overload, in-place or symbolic operator, by overload, name or full schema;
            its functional twin in eager is the judge.
        *args: arguments as eager takes them.
        reference: a function of the same arguments to judge instead (for operators that torch
            lacks).
        out_dtype: dtype of the output where it is not the result's: eager's out variant judges.
        libraries: which kernels to run; "optimized" is skipped where the operator has none.
        **kwargs: keyword arguments.
    """
    from etlab.runtime import _native

    resolved = KernelOperator.resolve(operator)
    libraries = [
        library
        for library in libraries
        if library != "optimized" or _native.has_optimized_kernel(resolved.name)
    ]
    is_in_place = bool(resolved.mutated_positions) and not resolved.out_arguments
    if is_in_place and not resolved.returns_number:
        for library in libraries:
            _check_in_place(resolved, args, kwargs, reference, library)
        return
    wanted_args = _with_clones(resolved, args)
    if reference is not None:
        expected = reference(*wanted_args, **kwargs)
    elif out_dtype is not None:
        expected = resolved.eager_out(wanted_args, kwargs, out_dtype)
    else:
        expected = resolved.eager(wanted_args, kwargs)
    for library in libraries:
        if resolved.returns_number:
            number = run_kernel(operator, *args, allow_optimized=library == "optimized", **kwargs)
            assert type(number) is type(expected), f"{resolved.name}: {number!r}, not {expected!r}"
            both_nan = number != number and expected != expected
            assert both_nan or number == expected, f"{resolved.name}: {number!r}, not {expected!r}"
            continue
        tensors = list(expected) if isinstance(expected, list | tuple) else [expected]
        if reference is not None and out_dtype is not None:
            tensors = [tensor.to(out_dtype) for tensor in tensors]
        tensors = [tensor.detach() for tensor in tensors]
        _check_out_variant(resolved, args, kwargs, wanted_args, tensors, library)
