"""The child process that ExecuTorch's own runtime lives in; idle ones wait for the next use.

Starting it takes seconds, nearly all of them imports.
"""

import atexit
import contextlib
import os
import re
import signal
import struct
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import Any

from etlab.errors import EtlabError
from etlab.numerics import _official_child

# A comparison of operators runs whole programs in one child and single steps in another.
_MOST_WAITING = 2


class OfficialRuntimeError(EtlabError):
    """The official runtime refused the program, failed, or died; the message is its own words."""


class OfficialProcess:
    """A child, and what it writes to standard error.

    Attributes:
        is_in_step: whether every question has got its answer, so that the next one will.
    """

    def __init__(self) -> None:
        self._script = _official_child.__file__
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._child = subprocess.Popen(
            [sys.executable, str(Path(self._script))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
            env={**os.environ, "PYTHONUNBUFFERED": "1", "PYTHONWARNINGS": "ignore"},
        )
        self.is_in_step = True

    @property
    def is_alive(self) -> bool:
        """Whether the child can still be asked."""
        return self._child.poll() is None

    @property
    def is_current(self) -> bool:
        """Whether it serves as well as a child that is started now."""
        is_same = self._script == _official_child.__file__
        return is_same and self.is_alive and self.is_in_step

    def ask(self, request: dict[str, Any], timeout: float) -> dict[str, Any]:
        """The child's answer.

        Args:
            request: as `_official_child.py` takes it.
            timeout: seconds after which the child is ended.

        Raises:
            OfficialRuntimeError: it failed, died or was too slow.
        """
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        begin = self._stderr_size()
        late = threading.Timer(timeout, self._child.kill)
        self.is_in_step = False
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
            why = f"gave no answer in {timeout:g} s" if timed_out else self._cause_of_death()
            raise OfficialRuntimeError(_with_words(why, self._words(begin)))
        self.is_in_step = True
        if not answer["ok"]:
            raise OfficialRuntimeError(_with_words(str(answer["reason"]), self._words(begin)))
        return dict(answer)

    def forget_words(self) -> None:
        """Drop what the child has written to standard error so far."""
        self._stderr.seek(0)  # the child writes at the same place
        self._stderr.truncate()

    def interrupt(self) -> None:
        """End the child; an `ask` in another thread raises."""
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


def _with_words(why: str, words: str) -> str:
    return f"{why} ({words})" if words and words not in why else why


class _Waiting:
    """The idle children of this process, the last one first."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._processes: list[OfficialProcess] = []

    def take(self) -> OfficialProcess | None:
        with self._lock:
            return self._processes.pop() if self._processes else None

    def add(self, process: OfficialProcess) -> bool:
        """Whether there was room."""
        with self._lock:
            has_room = len(self._processes) < _MOST_WAITING
            if has_room:
                self._processes.append(process)
            return has_room

    def forget(self) -> None:
        """Nothing waits in a process that was forked: the children are its parent's."""
        self._lock = threading.Lock()
        self._processes = []


_waiting = _Waiting()
os.register_at_fork(after_in_child=_waiting.forget)


def borrow() -> tuple[OfficialProcess, bool]:
    """A child to ask, and whether it has served before."""
    while (process := _waiting.take()) is not None:
        if process.is_current:
            return process, True
        process.close()
    return OfficialProcess(), False


def give_back(process: OfficialProcess) -> None:
    """Let a child wait for the next `borrow`; one that is dead or out of step is ended."""
    if process.is_current:
        process.forget_words()
        if _waiting.add(process):
            return
    process.close()


@atexit.register
def end_waiting() -> None:
    """End the children that wait; the next use starts another."""
    while (process := _waiting.take()) is not None:
        process.close()
