"""ExecuTorch's own runtime, in a child process: it may abort, and it holds the GIL."""

import contextlib
import importlib.util
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import torch

from etlab.errors import EtlabError
from etlab.exir import official_operators
from etlab.numerics import _official_child
from etlab.numerics.parity import PathAbsentError, PathNotApplicableError
from etlab.runtime import Runtime

ABSENT = "executorch is not installed: pip install 'etlab[official]'"


class OfficialRuntimeError(EtlabError):
    """The official runtime refused the program, failed, or died; the message is its own words."""


def is_available() -> bool:
    """Whether the `executorch` package is installed (it is not imported to find out)."""
    return importlib.util.find_spec("executorch") is not None


class OfficialRuntime:
    """A program loaded in a child process that runs ExecuTorch's runtime.

    One child serves all `execute` calls of the object, so mutable state behaves as on a device.
    Use it as a context manager; leaving ends the child.

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
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._child = subprocess.Popen(
            [sys.executable, str(Path(_official_child.__file__))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"},
        )
        try:
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
        return self._child.poll() is None

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
        self._child.kill()

    def close(self) -> None:
        """End the child. May be called twice."""
        for pipe in (self._child.stdin, self._child.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
        self._child.kill()
        self._child.wait()
        self._stderr.close()

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End the child."""
        self.close()

    def _ask(self, request: dict[str, Any]) -> dict[str, Any]:
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        begin = self._stderr_size()
        late = threading.Timer(self._timeout, self._child.kill)
        late.start()
        try:
            _official_child.write_message(self._child.stdin, request)  # type: ignore[arg-type]
            answer = _official_child.read_message(self._child.stdout)  # type: ignore[arg-type]
        except (OSError, ValueError, struct.error):
            answer = None
        finally:
            timed_out = not late.is_alive()
            late.cancel()
        if answer is None:
            why = f"gave no answer in {self._timeout:g} s" if timed_out else self._cause_of_death()
            raise OfficialRuntimeError(_with_words(why, self._words(begin)))
        if not answer["ok"]:
            raise OfficialRuntimeError(_with_words(str(answer["reason"]), self._words(begin)))
        return dict(answer)

    def _cause_of_death(self) -> str:
        code = self._child.wait(10)
        if code < 0:
            return f"the official runtime died of {signal.Signals(-code).name}"
        return f"the official runtime ended with exit code {code}"

    def _stderr_size(self) -> int:
        return os.fstat(self._stderr.fileno()).st_size

    def _words(self, begin: int) -> str:
        """What the child wrote to standard error since `begin`, the last useful lines of it."""
        size = self._stderr_size()
        begin = max(begin, size - 20_000)
        text = os.pread(self._stderr.fileno(), size - begin, begin).decode(errors="replace")
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        own = [line for line in lines if re.search(r"[\[:]\w+\.(cpp|h|cc):\d+\]", line)]
        own = [line for line in own if not re.search(r"\] arg \d+ with type id", line)]
        errors = [line for line in lines if re.match(r"[\w.]*(Error|Exception)\b", line)]
        return "; ".join(line[:300] for line in (own or errors)[-3:])


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


def _with_words(why: str, words: str) -> str:
    return f"{why} ({words})" if words and words not in why else why
