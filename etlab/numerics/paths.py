"""The ways to compute a model's outputs, each opened for as long as a comparison takes."""

import contextlib
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from etlab.errors import InterruptedExecutionError, NotFoundError
from etlab.exir import stages
from etlab.numerics.official import OfficialRuntime, OfficialRuntimeError
from etlab.numerics.parity import OpenPath, PathAbsentError, PathNotApplicableError
from etlab.numerics.stopping import interruptible

Path = Callable[[], AbstractContextManager[OpenPath]]
DEVICE_PREFIX = "device:"


def flatten_arguments(arguments: tuple[Any, ...]) -> list[Any]:
    """Leaves of positional arguments, in the order of a program's inputs."""
    return list(_pytree.tree_flatten((arguments, {}))[0])


def module_path(name: str, module: torch.nn.Module) -> Path:
    """A module in PyTorch; its buffers are as before when the path closes."""

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        kept = [(buffer, buffer.detach().clone()) for buffer in module.buffers()]

        def call(sample: tuple[Any, ...]) -> list[Any]:
            with stages.stage(f"run {name}"), torch.no_grad():
                return list(_pytree.tree_leaves(module(*sample)))

        try:
            yield call
        finally:
            with torch.no_grad():
                for buffer, value in kept:
                    buffer.copy_(value)

    return opened


def exported_path(name: str, exported: ExportedProgram) -> Path:
    """An exported program, run by PyTorch."""

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        with module_path(name, exported.module())() as path:
            yield path

    return opened


def native_path(
    program: bytes, method: str = "forward", *, tensor_data: Mapping[str, bytes] | None = None
) -> Path:
    """Our runtime, in this process.

    Args:
        program: bytes of a .pte file.
        method: the method's name.
        tensor_data: the .ptd files that the program needs, by name.
    """

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        from etlab.runtime import Runtime

        outside = [*(tensor_data or {}).values()]
        loaded = Runtime.get().load_program(program, data_path=outside).load_method(method)
        if loaded is None:
            raise NotFoundError(f"the program has no method '{method}'")

        def call(sample: tuple[Any, ...]) -> list[Any]:
            with stages.stage("run native"), interruptible(loaded.interrupt):
                return list(loaded.execute(flatten_arguments(sample)))

        yield call

    return opened


def official_path(
    program: bytes,
    example: Sequence[Any],
    method: str = "forward",
    timeout: float = 300.0,
    *,
    tensor_data: Mapping[str, bytes] | None = None,
) -> Path:
    """ExecuTorch's runtime, in a child process.

    Args:
        program: bytes of a .pte file.
        example: flat inputs of the export. Their layout is given to every input, since this runtime
            takes other strides without a word and computes something else.
        method: the method's name.
        timeout: seconds for one answer.
        tensor_data: the .ptd file that the program needs, by name; its Python API takes one.
    """

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        outside = [*(tensor_data or {}).values()]
        if len(outside) > 1:
            raise PathNotApplicableError(
                f"the official runtime's Python API takes one .ptd file, the program needs"
                f" {', '.join(tensor_data or {})}"
            )
        with stages.stage("start official"):
            data = outside[0] if outside else None
            runtime = OfficialRuntime(program, method=method, timeout=timeout, tensor_data=data)
        stopped = False

        def stop() -> None:
            nonlocal stopped
            stopped = True
            runtime.interrupt()

        def call(sample: tuple[Any, ...]) -> list[Any]:
            inputs = flatten_arguments(sample)
            laid_out = [_laid_out(*pair) for pair in zip(inputs, example, strict=False)]
            try:
                with stages.stage("run official"), interruptible(stop):
                    return runtime.execute(laid_out + inputs[len(laid_out) :])
            except OfficialRuntimeError:
                if stopped:
                    raise InterruptedExecutionError("the official path was stopped") from None
                raise

        with runtime:
            yield call

    return opened


def device_path(
    name: str,
    program: bytes,
    method: str = "forward",
    timeout: float = 300.0,
    *,
    tensor_data: Mapping[str, bytes] | None = None,
    host_data: bytes = b"",
) -> Path:
    """`etlab-run` on a device, which is found by its name in `etlab.devices`.

    Args:
        name: for example "device:aarch64-qemu" or "device:ssh:user@host".
        program: bytes of a .pte file.
        method: the method's name.
        timeout: seconds for one answer.
        tensor_data: the .ptd files that the program needs, by name.
        host_data: a .ptd file for computers only, of which stand-ins for devices take theirs.
    """

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        devices = importlib.import_module("etlab.devices")
        try:
            with stages.stage(f"start {name}"):
                device = devices.device(name.removeprefix(DEVICE_PREFIX))
                session = None
                if not isinstance(device, devices.StandIn):
                    session = devices.DeviceSession(
                        device, program, method=method, timeout=timeout, tensor_data=tensor_data
                    )
        except devices.DeviceAbsentError as error:
            raise PathAbsentError(str(error)) from None
        if session is None:
            outside = {**(tensor_data or {}), **({"": host_data} if host_data else {})}
            with _stand_in_path(device.name, program, method, outside)() as path:
                yield path
            return

        def call(sample: tuple[Any, ...]) -> list[Any]:
            with stages.stage(f"run {name}"):
                return list(session.execute(flatten_arguments(sample)))

        with session:
            yield call

    return opened


def _stand_in_path(
    name: str, program: bytes, method: str, tensor_data: Mapping[str, bytes] | None
) -> Path:
    """Our runtime, with a stand-in for hardware that is not here."""

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        from etlab.runtime import standing_in

        with contextlib.ExitStack() as held:
            with standing_in(name):
                path = held.enter_context(native_path(program, method, tensor_data=tensor_data)())
            yield path

    return opened


def _laid_out(value: Any, example: Any) -> Any:
    """`value` with the order of dimensions in memory that `example` has."""
    if not isinstance(value, torch.Tensor) or not isinstance(example, torch.Tensor):
        return value
    if value.dim() != example.dim():
        return value
    strides = example.stride()
    order = sorted(range(example.dim()), key=lambda dim: -strides[dim])
    back = sorted(range(len(order)), key=lambda place: order[place])
    return value.permute(order).contiguous().permute(back)
