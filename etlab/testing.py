"""Helpers of the tests: one a kind of test, so that a test is a list of inputs."""

from collections.abc import Sequence
from typing import Any

import torch

from etlab.errors import InvalidArgumentError

# Largest accepted difference to eager by dtype, (absolute, relative); None compares bits.
TOLERANCES: dict[torch.dtype, tuple[float, float]] = {
    torch.float64: (1e-10, 1e-9),
    torch.float32: (1e-5, 1e-5),
    torch.float16: (1e-3, 2e-3),
    torch.bfloat16: (1e-2, 1.6e-2),
}


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
    if isinstance(value, torch.memory_format | torch.layout):
        return 0
    if isinstance(value, list | tuple):
        if "Tensor" in schema_type:
            return ("tensors", [None if item is None else _describe(item) for item in value])
        if "float" in schema_type:
            return ("floats", [float(item) for item in value])
        if "bool" in schema_type:
            return ("bools", [int(item) for item in value])
        return ("ints", [int(item) for item in value])
    if "[]" in schema_type and isinstance(value, int):  # int[2] given as one int
        return ("ints", [value])
    if schema_type.startswith("float"):
        return float(value)
    return value


def run_kernel(
    operator: torch._ops.OpOverload,
    *args: Any,
    outputs: Sequence[torch.Tensor],
    allow_optimized: bool = True,
    **kwargs: Any,
) -> list[list[int]]:
    """Run the native kernel of an out variant on torch tensors.

    Args:
        operator: an out overload, for example `torch.ops.aten.relu.out`.
        *args: its arguments without the outputs, as eager takes them.
        outputs: dense tensors that the kernel writes, in schema order.
        allow_optimized: whether the optimized library may serve the call.
        **kwargs: keyword arguments without the outputs.

    Returns:
        The sizes of the outputs after the call.

    Raises:
        InvalidArgumentError: more or fewer outputs than the schema has.
        EtlabError: whatever the kernel raises.
    """
    from etlab.runtime import _native

    values: list[Any] = []
    remaining = list(args)
    pending = list(outputs)
    for argument in operator._schema.arguments:
        if argument.is_out:
            if not pending:
                raise InvalidArgumentError(f"{operator}: too few outputs given")
            values.append(_describe(pending.pop(0)))
            continue
        if remaining and not argument.kwarg_only:
            value = remaining.pop(0)
        elif argument.name in kwargs:
            value = kwargs[argument.name]
        else:
            value = argument.default_value
        values.append(_native_argument(str(argument.real_type), value))
    if pending or remaining:
        raise InvalidArgumentError(f"{operator}: arguments or outputs left over")
    name = operator._schema.name
    if operator._schema.overload_name:
        name = f"{name}.{operator._schema.overload_name}"
    sizes, _ = _native.run_kernel(name, values, allow_optimized)
    return list(sizes[-len(outputs) :])


def assert_same(actual: torch.Tensor, expected: torch.Tensor, what: str = "output") -> None:
    """Assert equal dtype, shape and values: bits for integers, `TOLERANCES` for floats."""
    assert actual.dtype == expected.dtype, f"{what}: dtype {actual.dtype}, not {expected.dtype}"
    assert actual.shape == expected.shape, f"{what}: shape {actual.shape}, not {expected.shape}"
    if expected.dtype in TOLERANCES:
        absolute, relative = TOLERANCES[expected.dtype]
        torch.testing.assert_close(
            actual, expected, atol=absolute, rtol=relative, equal_nan=True, msg=lambda m: f"{what}: {m}"
        )
    else:
        assert torch.equal(actual, expected), f"{what}: {actual} is not {expected}"


def check_kernel(
    operator: torch._ops.OpOverload,
    *args: Any,
    reference: Any = None,
    libraries: Sequence[str] = ("portable", "optimized"),
    **kwargs: Any,
) -> None:
    """Assert that the native kernels of `operator` compute what eager does.

    Args:
        operator: an out overload; its functional twin in eager is the judge.
        *args: arguments as eager takes them.
        reference: a function of the same arguments to judge instead (for operators whose out
            variant eager lacks).
        libraries: which kernels to run; "optimized" is skipped where the operator has none.
        **kwargs: keyword arguments.
    """
    from etlab.runtime import _native

    packet = getattr(getattr(torch.ops, operator.namespace), operator._schema.name.split("::")[1])
    expected = (reference or packet)(*args, **kwargs)
    expected_list = list(expected) if isinstance(expected, list | tuple) else [expected]
    name = operator._schema.name
    if operator._schema.overload_name:
        name = f"{name}.{operator._schema.overload_name}"
    for library in libraries:
        if library == "optimized" and not _native.has_optimized_kernel(name):
            continue
        outputs = [torch.empty_strided(t.shape, t.contiguous().stride(), dtype=t.dtype) for t in expected_list]
        for output in outputs:
            if output.numel():
                output.view(torch.uint8).fill_(0xA5) if output.dim() else output.fill_(1)
        run_kernel(
            operator, *args, outputs=outputs, allow_optimized=library == "optimized", **kwargs
        )
        for index, (actual, want) in enumerate(zip(outputs, expected_list, strict=True)):
            assert_same(actual, want.detach().contiguous(), f"{name} [{library}] output {index}")
