"""Kernels of a user's operators, written in Python: `register_kernel("mylib::foo", function)`."""

import ctypes
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, overload

import torch

from etlab.errors import AccessError, InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.runtime import _native
from etlab.runtime.python_calls import describe_results, stoppable
from etlab.runtime.tensors import TensorDescription, allocate_tensor

_LIBRARIES: list[ctypes.CDLL] = []  # never unloaded: methods may hold their kernels

Function = TypeVar("Function", bound=Callable[..., Any])


@overload
def register_kernel(operator: Any, function: Function) -> Function: ...


@overload
def register_kernel(operator: Any) -> Callable[[Function], Function]: ...


def register_kernel(operator: Any, function: Any = None) -> Any:
    """Let programs call an operator whose kernel is a Python function.

    Methods that are loaded afterwards use it; those that are loaded keep what they have. A name may
    be registered again. The kernel stands in front of a built-in one of the same name::

        @register_kernel("mylib::scale.out")
        def scale(x, factor):
            return x * factor

        register_kernel("mylib::scale", torch.ops.mylib.scale)  # the operator's own, eager kernel

    Arguments that the operator writes are copies, too: the function writes them, and what they hold
    then becomes their content in the program. Torch must know the operator for that: which
    arguments it writes stands in its schema.

    A run holds no GIL; the kernel takes it for the length of its call. What it raises becomes an
    InternalError that carries the traceback, and the method can run again.

    Args:
        operator: its name in programs, "mylib::scale.out", or the operator itself
            (`torch.ops.mylib.scale`, a `torch.library.custom_op`).
        function: takes the operator's arguments in the order of its schema (copies of tensors,
            numbers, strings, lists, None) and returns its tensors: one, or a list or tuple.

    Returns:
        The function; without one, a decorator.

    Raises:
        InvalidArgumentError: the name is none, or the function cannot be called.
    """
    name = kernel_name(operator)
    if function is None:
        return lambda decorated: register_kernel(name, decorated)
    if not callable(function):
        raise InvalidArgumentError(
            f"register_kernel: expected a function as the kernel of {name}, got"
            f" {type(function).__name__}"
        )
    schema = _schema_of(name)
    written = _written(schema)
    has_results = schema is None or bool(_results(schema)) or not written
    flat = _on_flat_values(name, function, written, has_results=has_results)
    _native.register_kernel(name, flat, allocate_tensor, written, has_results)
    return function


def load_kernels(path: str | Path) -> list[str]:
    """Load a shared library of compiled kernels and register all of them.

    The library is built against the headers of this etlab (`find_package(etlab)`, linked to
    `etlab::core`); its kernels are registered with `ETLAB_CUSTOM_KERNEL(name, function)` and one of
    its files ends with `ETLAB_EXPORT_KERNELS();` (`core/kernel_table.h`). It stays loaded.

    Returns:
        The names of its operators.

    Raises:
        AccessError: the file cannot be loaded; the message is the system's.
        InvalidArgumentError: `path` is no path, or the file exports no kernels.
        NotSupportedError: it was built for another etlab.
    """
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgumentError(
            f"load_kernels: expected the path of a shared library, got {type(path).__name__}"
        )
    name = os.fspath(path)
    if Path(name).exists():  # the system looks for a bare name among its own libraries
        name = str(Path(name).absolute())
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise AccessError(f"load_kernels: {error}") from error
    try:
        table = getattr(library, _native.KERNEL_TABLE_SYMBOL)
    except AttributeError:
        raise InvalidArgumentError(
            f"load_kernels: {os.fspath(path)} exports no kernels; end one of its files with"
            " ETLAB_EXPORT_KERNELS();"
        ) from None
    table.restype = ctypes.c_void_p
    try:
        names = _native.register_kernel_table(table() or 0)
    except NotSupportedError as error:
        raise NotSupportedError(f"load_kernels: {os.fspath(path)}: {error}") from None
    _LIBRARIES.append(library)
    return names


def unregister_kernel(operator: Any) -> None:
    """Take a kernel back; methods that are loaded keep it, built-in kernels come back.

    Raises:
        NotFoundError: no kernel of that name was registered; the message lists those that are.
    """
    name = kernel_name(operator)
    if not _native.unregister_kernel(name):
        names = ", ".join(_native.custom_kernel_names()) or "none"
        raise NotFoundError(f"no kernel was registered for {name}; registered: {names}")


def kernel_name(operator: Any) -> str:
    """The name that programs have for an operator: "mylib::scale.out".

    >>> kernel_name("mylib::scale")
    'mylib::scale.out'

    Raises:
        InvalidArgumentError: it is no operator and no name of one.
    """
    schema = getattr(getattr(operator, "_opoverload", operator), "_schema", None)
    if isinstance(operator, torch._ops.OpOverloadPacket):
        overloads = operator.overloads()  # type: ignore[no-untyped-call]  # torch's
        schema = getattr(operator, overloads[0])._schema
    if schema is not None:
        return _name_in_programs(schema)
    if isinstance(operator, str) and re.fullmatch(r"\w+::\w+(\.\w+)?", operator):
        is_whole = "." in operator or (operator.endswith("_") and not _has_results(operator))
        return operator if is_whole else f"{operator}.out"
    raise InvalidArgumentError(
        "register_kernel: expected the name of an operator such as 'mylib::scale.out', or the"
        f" operator torch.ops.mylib.scale, got {operator!r}"
    )


def _name_in_programs(schema: Any) -> str:
    name, overload_name = schema.name, schema.overload_name
    if any(argument.is_out for argument in schema.arguments):
        return f"{name}.{overload_name}"
    if name.endswith("_") and not _results(schema):
        return f"{name}.{overload_name}" if overload_name else name
    return f"{name}.{overload_name}_out" if overload_name else f"{name}.out"


def _schemas(name: str) -> list[Any]:
    """The schemas of an operator ("mylib::scale") that torch knows."""
    namespace, operator = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), operator, None)
    if not isinstance(packet, torch._ops.OpOverloadPacket):
        return []
    overloads = packet.overloads()  # type: ignore[no-untyped-call]  # torch's
    return [getattr(packet, overload_name)._schema for overload_name in overloads]


def _schema_of(name: str) -> Any:
    """The schema of what programs call `name`, if torch knows it."""
    schemas = _schemas(name.split(".")[0])
    return next((one for one in schemas if _name_in_programs(one) == name), None)


def _results(schema: Any) -> list[Any]:
    """What an operator returns beside arguments of its own."""
    return [result for result in schema.returns if result.alias_info is None]


def _has_results(name: str) -> bool:
    return any(_results(schema) for schema in _schemas(name))


def _written(schema: Any) -> list[int]:
    """Positions of the arguments that an operator writes, its outputs aside."""
    return [
        place
        for place, argument in enumerate(schema.arguments if schema is not None else ())
        if argument.alias_info is not None and argument.alias_info.is_write and not argument.is_out
    ]


def _on_flat_values(
    name: str, function: Callable[..., Any], written: list[int], *, has_results: bool
) -> Callable[[list[Any]], Any]:
    """A kernel that returns its results, and then the arguments that it wrote."""
    keywords = _keyword_only(function)

    def run(inputs: list[Any]) -> tuple[list[TensorDescription], list[torch.Tensor]]:
        positional = inputs[: len(inputs) - len(keywords)] if keywords else inputs
        named = dict(zip(keywords, inputs[len(positional) :], strict=True))
        with stoppable(), torch.no_grad():
            returned = function(*positional, **named)
        if isinstance(returned, torch.Tensor) or not isinstance(returned, list | tuple):
            returned = [returned]
        if not has_results:
            returned = []
        returned = [*returned, *(inputs[at] for at in written if inputs[at] is not None)]
        return describe_results(returned, f"kernel {name}")

    return run


def _keyword_only(function: Any) -> list[str]:
    """Names of the arguments that an operator takes by keyword; they stand last in its schema."""
    if isinstance(function, torch._ops.OpOverloadPacket):
        overloads = function.overloads()  # type: ignore[no-untyped-call]  # torch's
        function = getattr(function, overloads[0])
    schema = getattr(getattr(function, "_opoverload", function), "_schema", None)
    if schema is None:
        return []
    return [argument.name for argument in schema.arguments if argument.kwarg_only]
