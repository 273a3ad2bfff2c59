"""What this process can run: operators and backends."""

from typing import Any, Protocol

import torch

from etlab.errors import InvalidArgumentError
from etlab.runtime import _native
from etlab.runtime.tensors import TensorDescription, allocate_tensor, as_tensor, describe_tensor


class NamedData(Protocol):
    """Bytes that a program stores by name; readable while `Backend.create` runs."""

    def get(self, key: str) -> bytes:
        """The bytes under `key`; raises NotFoundError."""


class Delegate(Protocol):
    """One delegated subgraph."""

    def execute(self, inputs: list[Any]) -> list[torch.Tensor]:
        """Compute the outputs; inputs are tensors of the delegate's own, and numbers."""


class Backend(Protocol):
    """A way to run delegated subgraphs, written in Python."""

    def create(
        self, processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData
    ) -> Delegate:
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
        delegate = backend.create(processed, compile_specs, named_data)

        def run(inputs: list[Any]) -> tuple[list[TensorDescription], list[torch.Tensor]]:
            returned = delegate.execute(inputs)
            if isinstance(returned, torch.Tensor):
                returned = [returned]
            outputs = [
                as_tensor(output, f"backend {name}, output {index}")
                for index, output in enumerate(returned)
            ]
            return [describe_tensor(output) for output in outputs], outputs

        return run

    _native.register_backend(name, create, allocate_tensor)
