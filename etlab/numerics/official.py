"""ExecuTorch's own runtime, in a child process: it may abort, and it holds the GIL."""

import contextlib
import importlib.util
from collections.abc import Sequence
from typing import Any, Self

import torch

from etlab.errors import EtlabError
from etlab.exir import official_operators
from etlab.numerics.official_process import OfficialRuntimeError, borrow, give_back
from etlab.numerics.parity import PathAbsentError, PathNotApplicableError
from etlab.runtime import Runtime

__all__ = ["OfficialRuntime", "OfficialRuntimeError", "is_available"]

ABSENT = "executorch is not installed: pip install 'etlab[official]'"


def is_available() -> bool:
    """Whether the `executorch` package is installed (it is not imported to find out)."""
    return importlib.util.find_spec("executorch") is not None


class OfficialRuntime:
    """A program loaded in a child process that runs ExecuTorch's runtime.

    One child serves all `execute` calls of the object, so mutable state behaves as on a device.
    Use it as a context manager; leaving unloads the program. The child, if it still answers, waits
    for the next object; `official_process.end_waiting()` ends it.

    Args:
        program: bytes of a .pte file.
        method: name of the method to load.
        timeout: seconds after which an answer is given up and the child is ended.
        tensor_data: bytes of the .ptd file that the program needs.

    Raises:
        PathAbsentError: `executorch` is not installed.
        PathNotApplicableError: the program needs operators or backends that the runtime lacks.
        OfficialRuntimeError: the runtime does not load the program.
    """

    def __init__(
        self,
        program: bytes,
        *,
        method: str = "forward",
        timeout: float = 300.0,
        tensor_data: bytes | None = None,
    ) -> None:
        """Start the child and load the program."""
        if not is_available():
            raise PathAbsentError(ABSENT)
        operators, backends = _needs_of(program, method)
        if missing := sorted(operators - official_operators.ALL):
            raise PathNotApplicableError(
                f"operator missing: the official runtime has no kernel for {', '.join(missing)}"
            )
        self._timeout = timeout
        self._is_closed = False
        self._process, has_served = borrow()
        try:
            try:
                self.load(program, method=method, tensor_data=tensor_data)
            except OfficialRuntimeError:
                if not has_served or self.is_alive:
                    raise
                self._process.close()  # what it served before may have cost it its life
                self._process, _ = borrow()
                self.load(program, method=method, tensor_data=tensor_data)
        except BaseException as error:
            missing = []
            if backends and isinstance(error, OfficialRuntimeError) and self.is_alive:
                missing = sorted(backends - set(self._ask({"backends": True})["backends"]))
            self.close()
            if missing:
                raise PathNotApplicableError(
                    f"backend missing: the official runtime has no {', '.join(missing)}"
                ) from error
            raise

    @property
    def is_alive(self) -> bool:
        """Whether the child can still be asked."""
        return self._process.is_alive

    def load(
        self, program: bytes, *, method: str = "forward", tensor_data: bytes | None = None
    ) -> None:
        """Load another program into the same child, in place of the one before.

        Raises:
            OfficialRuntimeError: the runtime does not load it.
        """
        request = {"load": _as_tensor(program), "method": method}
        if tensor_data is not None:
            request["tensor_data"] = _as_tensor(tensor_data)
        self.version = str(self._ask(request)["version"])

    def load_method(self, method: str) -> None:
        """Load another method of the same program, in place of the one before.

        Raises:
            OfficialRuntimeError: the runtime does not load it.
        """
        self._ask({"method": method})

    def execute(self, inputs: Sequence[Any]) -> list[Any]:
        """Run the method on flat inputs; the flat outputs are the caller's own.

        Tensors keep their strides: give them in the layout of the exported example, for this
        runtime neither converts nor refuses another one.
        """
        plain = [
            value.detach().clone() if isinstance(value, torch.Tensor) else value for value in inputs
        ]
        return list(self._ask({"execute": plain})["outputs"])

    def interrupt(self) -> None:
        """End the child; a running `execute` in another thread raises."""
        self._process.interrupt()

    def close(self) -> None:
        """Unload the program. May be called twice."""
        if self._is_closed:
            return
        self._is_closed = True
        if self._process.is_current:
            with contextlib.suppress(OfficialRuntimeError):
                self._ask({"unload": True})
        give_back(self._process)

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Unload the program."""
        self.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        return self._process.ask(request, self._timeout)


def _as_tensor(content: bytes) -> torch.Tensor:
    if not content:
        return torch.zeros(0, dtype=torch.uint8)
    return torch.frombuffer(bytearray(content), dtype=torch.uint8)


def _needs_of(program: bytes, method: str) -> tuple[set[str], set[str]]:
    """Operators and backends of a method; none where the program cannot be read."""
    try:
        metadata = Runtime.get().load_program(program).metadata(method)
    except EtlabError:  # the official runtime says in its own words what it thinks of such a file
        return set(), set()
    return set(metadata.operator_names), set(metadata.backend_names)
