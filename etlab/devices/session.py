"""A program on a device: pushed once, run as often as asked, its state kept between calls."""

import contextlib
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Self

import torch

from etlab.devices.base import Device, DeviceError
from etlab.devices.values import load_events, load_outputs, save_input
from etlab.errors import (
    AccessError,
    BackendMissingError,
    EtlabError,
    InternalError,
    InterruptedExecutionError,
    InvalidArgumentError,
    InvalidProgramError,
    NotFoundError,
    NotSupportedError,
    OperatorMissingError,
    OutOfMemoryError,
)
from etlab.exir import stages
from etlab.numerics.stopping import interruptible
from etlab.runtime import TraceEvent

_KINDS: dict[str, type[EtlabError]] = {
    "internal error": InternalError,
    "invalid argument": InvalidArgumentError,
    "invalid program": InvalidProgramError,
    "not found": NotFoundError,
    "not supported": NotSupportedError,
    "operator missing": OperatorMissingError,
    "backend missing": BackendMissingError,
    "out of memory": OutOfMemoryError,
    "access failed": AccessError,
    "interrupted": InterruptedExecutionError,
}
_POLL_SECONDS = 0.2


class DeviceSession:
    """`etlab-run` on a device with a folder of its own; a context manager.

    Args:
        device: where.
        program: bytes of a .pte file.
        method: its method; None takes "forward", or the only one.
        threads: of kernels; None leaves it to the device.
        timeout: seconds for one answer.
        tensor_data: contents of the .ptd files that the program needs, by name.

    Raises:
        DeviceAbsentError: a tool or the device's `etlab-run` is missing.
        DeviceError: the device cannot be reached.
    """

    def __init__(
        self,
        device: Device,
        program: bytes,
        *,
        method: str | None = None,
        threads: int | None = None,
        timeout: float = 300.0,
        tensor_data: Mapping[str, bytes] | None = None,
    ) -> None:
        self._device = device
        self._method = method
        self._threads = threads
        self._timeout = timeout
        self._calls = 0
        self._stopped = False
        self._child: subprocess.Popen[str] | None = None
        self._there = ""
        self._data: list[str] = []  # files there
        self._folder = tempfile.TemporaryDirectory(prefix="etlab-device-")
        self._here = Path(self._folder.name)
        self._stderr = (self._here / "stderr.txt").open("w+")
        try:
            self._start(program, list((tensor_data or {}).values()))
        except BaseException:
            self.close()
            raise

    def _start(self, program: bytes, tensor_data: Sequence[bytes]) -> None:
        runner = self._device.runner()
        self._there = self._device.make_folder(self._here)
        (self._here / "program.pte").write_bytes(program)
        with stages.stage("push to the device"):
            self._device.push(self._here / "program.pte", f"{self._there}/program.pte")
            for index, content in enumerate(tensor_data):  # names of ours: any text may be theirs
                name = f"data_{index}.ptd"
                (self._here / name).write_bytes(content)
                self._device.push(self._here / name, f"{self._there}/{name}")
                self._data.append(f"{self._there}/{name}")
            if not self._device.shares_files:
                self._device.push(runner, f"{self._there}/etlab-run")
                self._device.ask(["chmod", "+x", f"{self._there}/etlab-run"])
                start = f"{self._there}/etlab-run"
            else:
                start = str(runner)
        self._child = subprocess.Popen(
            self._device.command([start, "--serve"]),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            text=True,
            bufsize=1,
        )
        self._answers: queue.SimpleQueue[str | None] = queue.SimpleQueue()
        self._listener = threading.Thread(target=self._listen, name="etlab-device", daemon=True)
        self._listener.start()

    def execute(self, inputs: Sequence[Any], *, method: str | None = None) -> list[Any]:
        """Run the method on flat inputs; the flat outputs.

        Raises:
            EtlabError: what `etlab-run` refuses, as the same kind of error as here.
            DeviceError: the device died, or gave no answer in time.
            InterruptedExecutionError: stopped.
        """
        folder = self._run(inputs, method, [])
        try:
            return load_outputs(folder)
        except (EtlabError, OSError, ValueError, LookupError, TypeError) as error:
            raise DeviceError(f"the device sent outputs that cannot be read: {error}") from error

    def profile(self, inputs: Sequence[Any], *, runs: int = 1) -> list[TraceEvent]:
        """The time of every instruction in `runs` runs; raises as `execute`."""
        folder = self._run(inputs, None, ["--profile", "--runs", str(runs)])
        return load_events(folder / "events.csv")

    def interrupt(self) -> None:
        """End what runs there; from any thread."""
        self._stopped = True
        self._end()

    def close(self) -> None:
        """End the child and remove the folders. May be called twice."""
        self._end()
        if self._there:
            with contextlib.suppress(EtlabError, OSError):
                self._device.remove_folder(self._there)
            self._there = ""
        self._stderr.close()
        self._folder.cleanup()

    def __enter__(self) -> Self:
        """The object itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close."""
        self.close()

    def _run(self, inputs: Sequence[Any], method: str | None, options: list[str]) -> Path:
        """One call there; the folder here that holds what it wrote."""
        call = str(self._calls)
        if not self._device.shares_files:  # else the files of the call before are overwritten
            self._calls += 1
        given = self._here / f"in_{call}"
        given.mkdir(exist_ok=True)
        words = [save_input(value, given, index) for index, value in enumerate(inputs)]
        there = f"{self._there}/in_{call}"
        is_file = [isinstance(value, torch.Tensor) for value in inputs]
        if any(is_file):
            self._device.push(given, there)
        words = [
            f"{there}/{word}" if pushed else word
            for word, pushed in zip(words, is_file, strict=True)
        ]
        request = [f"{self._there}/program.pte", *options]
        if (name := method or self._method) is not None:
            request += ["--method", name]
        if self._data:
            request += ["--data", *self._data]
        if self._threads is not None:
            request += ["--threads", str(self._threads)]
        request += ["--outputs", f"{self._there}/out_{call}", "--inputs", *words]
        with interruptible(self.interrupt):
            self._ask(request)
        self._device.pull(f"{self._there}/out_{call}", self._here / f"out_{call}")
        return self._here / f"out_{call}"

    def _ask(self, words: Sequence[str]) -> None:
        if bad := [word for word in words if set(word) & set("\t\n\r")]:
            raise InvalidArgumentError(f"{bad[0]!r}: no tab or line break can be sent to a device")
        child = self._child
        assert child is not None
        assert child.stdin is not None
        try:
            child.stdin.write("\t".join(words) + "\n")
            child.stdin.flush()
        except (OSError, ValueError):
            pass  # it has died; its answer says so
        answer = self._answer()
        if answer is None:
            if self._stopped:
                raise InterruptedExecutionError("the device was stopped")
            raise DeviceError(f"etlab-run ended on the device: {self._last_words()}")
        kind, _, message = answer.removeprefix("error\t").partition("\t")
        if answer != "ok":
            raise _KINDS.get(kind, DeviceError)(message or answer)

    def _answer(self) -> str | None:
        end = time.monotonic() + self._timeout
        while (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                return self._answers.get(timeout=min(left, _POLL_SECONDS))
        self._end()
        raise DeviceError(f"etlab-run gave no answer in {self._timeout:g} s; it was ended")

    def _listen(self) -> None:
        child = self._child
        assert child is not None
        assert child.stdout is not None
        with contextlib.suppress(ValueError):
            for line in child.stdout:
                self._answers.put(line.rstrip("\r\n"))
        self._answers.put(None)

    def _end(self) -> None:
        child = self._child
        if child is None:
            return
        # The end of its input ends a run on a machine that no signal of ours reaches.
        if child.stdin is not None:
            with contextlib.suppress(OSError):
                child.stdin.close()
        child.kill()
        child.wait()
        self._listener.join(_POLL_SECONDS)
        if child.stdout is not None and not self._listener.is_alive():
            child.stdout.close()

    def _last_words(self) -> str:
        child = self._child
        assert child is not None
        code = child.wait()
        said = Path(self._stderr.name).read_text(errors="replace").strip().splitlines()[-3:]
        why = f"signal {-code}" if code < 0 else f"exit code {code}"
        return "; ".join([why, *said])
