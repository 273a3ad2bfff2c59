"""What this process can run: operators and backends."""

import functools
import importlib.util
import inspect
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

import torch

from etlab.errors import InvalidArgumentError
from etlab.runtime import _native
from etlab.runtime.python_calls import describe_results, stoppable
from etlab.runtime.tensors import TensorDescription, allocate_tensor, as_tensor, describe_tensor


class NamedData(Protocol):
    """Bytes that a program stores by name; readable while `Backend.create` runs."""

    def get(self, key: str) -> bytes:
        """The bytes under `key`; raises NotFoundError."""


class Delegate(Protocol):
    """One delegated subgraph."""

    def execute(self, inputs: list[Any]) -> Sequence[torch.Tensor] | torch.Tensor:
        """Compute the outputs; inputs are tensors of the delegate's own, and numbers."""


class TellingDelegate(Protocol):
    """One delegated subgraph that tells of its nodes."""

    def execute(
        self, inputs: list[Any], observer: "NodeObserver | None"
    ) -> Sequence[torch.Tensor] | torch.Tensor:
        """Compute the outputs; `observer` is None in runs that nobody traces."""


class NodeObserver:
    """Is told of the nodes of a Python delegate, each when it has run."""

    def __init__(self, native: _native.NodeObserver) -> None:
        self._native = native
        self._begin = time.perf_counter_ns()

    @property
    def wants_results(self) -> bool:
        """Whether what nodes write is kept, so that it is worth handing over."""
        return self._native.wants_results

    def result(
        self,
        value: int,
        tensor: torch.Tensor,
        scales: Sequence[float] = (),
        zero_points: Sequence[int] = (),
    ) -> None:
        """Hand over what the node that just ran wrote, before `node` tells of it.

        Args:
            value: the backend's number of the value.
            tensor: its elements as the backend holds them; copied.
            scales: integers q stand for (q - zero point) x scale: one of each for the tensor, or
                for each of its rows. With none the elements are the numbers themselves.
            zero_points: as many.

        Raises:
            InvalidArgumentError: their count does not fit the tensor.
        """
        plain = as_tensor(tensor, f"value {value}").contiguous()
        self._native.on_result(value, describe_tensor(plain), list(scales), list(zero_points))

    def node(self, kind: str, *, index: int | None = None, debug_handle: int = 0) -> None:
        """Tell that a node has run, since the last one or since the delegate was called.

        Args:
            kind: its name.
            index: its place in the delegate; None for a step that the backend added itself.
            debug_handle: what the backend's compiler gave it.
        """
        end = time.perf_counter_ns()
        self._native.on_node(kind, index, debug_handle, self._begin, end)
        self._begin = end


class Backend(Protocol):
    """A way to run delegated subgraphs, written in Python."""

    def create(
        self, processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData
    ) -> Delegate | TellingDelegate:
        """Make the delegate of one subgraph from what the compiler stored for it."""


class OperatorRegistry:
    """The operators that have kernels."""

    @property
    def operator_names(self) -> set[str]:
        """Names with overloads, for example "aten::add.out"; registered ones among them."""
        return {*_native.operator_names(), *_native.custom_kernel_names()}


class BackendRegistry:
    """The backends that delegates can use."""

    @property
    def registered_backend_names(self) -> list[str]:
        """Names, sorted."""
        return _native.backend_names()

    def is_available(self, backend_name: str) -> bool:
        """Whether a program that delegates to `backend_name` can be loaded."""
        return backend_name in _native.backend_names()


_PARTS = "etlab.backends"


@functools.cache
def import_delegates() -> bool:
    """Import the runtime parts of etlab's backends that are in Python, `delegate.py` of each.

    They register what they run. Done when a program asks for a backend that is not there, so that
    a program runs without its compiler being imported.

    Returns:
        Whether there was any.
    """
    spec = importlib.util.find_spec(_PARTS)
    folders = spec.submodule_search_locations if spec is not None else None
    files = sorted(path for folder in folders or () for path in Path(folder).glob("*/delegate.py"))
    names = [f"{_PARTS}.{path.parent.name}.delegate" for path in files]
    for name in names:
        importlib.import_module(name)
    return bool(names)


def register_backend(name: str, backend: Backend) -> None:
    """Let programs delegate to a backend written in Python; a name may be registered again.

    Methods that are loaded afterwards use it. What it raises becomes an error that carries the
    traceback.

    Args:
        name: the backend id in the programs.
        backend: an object with `create`.
    """
    if not name or not callable(getattr(backend, "create", None)):
        raise InvalidArgumentError(
            f"register_backend: expected a name and an object with create(), got {name!r} and"
            f" a {type(backend).__name__}"
        )

    def create(processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData) -> Any:
        execute: Any = backend.create(processed, compile_specs, named_data).execute
        tells = len(inspect.signature(execute).parameters) > 1

        def run(
            inputs: list[Any], observer: Any
        ) -> tuple[list[TensorDescription], list[torch.Tensor]]:
            with stoppable():
                if tells:
                    returned = execute(inputs, None if observer is None else NodeObserver(observer))
                else:
                    returned = execute(inputs)
            return describe_results(returned, f"backend {name}")

        return run

    _native.register_backend(name, create, allocate_tensor)
