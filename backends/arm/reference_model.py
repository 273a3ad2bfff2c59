"""TOSA's reference model in a child process, which may die without taking the session along."""

import atexit
import contextlib
import os
import pickle
import queue
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from etlab.backends.arm import package
from etlab.errors import BackendMissingError, EtlabError

_CHILD = Path(__file__).with_name("_reference_model_child.py")
_PATIENCE = 0.05  # seconds between two looks at whether this thread is to stop


class ReferenceModelError(EtlabError):
    """The reference model refused a graph, failed, or died; the message has its own words."""

    needs_no_traceback = True  # asked for where native code calls Python


class ReferenceModelMissingError(BackendMissingError):
    """The package with the reference model is not installed."""

    needs_no_traceback = True


def run(graph: bytes, inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Compute a graph.

    Args:
        graph: a TOSA graph.
        inputs: of the graph, in order.

    Raises:
        ReferenceModelMissingError: the package tosa-tools is not installed.
        ReferenceModelError: the model refused the graph or died; the message has its words.
    """
    if not package.has_reference_model():
        raise ReferenceModelMissingError(
            "TOSA graphs run on Arm's reference model, of the package tosa-tools, which is not "
            "installed: pip install 'etlab[arm]'"
        )
    with _lock:
        return _current().ask(graph, list(inputs))


class _Child:
    """One child; answers in the order of the questions."""

    def __init__(self) -> None:
        self._stderr = tempfile.TemporaryFile()  # noqa: SIM115 - closed with the child
        self._process = subprocess.Popen(
            [sys.executable, str(_CHILD)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._stderr,
        )
        self._answers: queue.Queue[Any] = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, graph: bytes, inputs: list[np.ndarray]) -> list[np.ndarray]:
        """The outputs; ends the child when this thread is stopped meanwhile."""
        assert self._process.stdin is not None
        begin = os.fstat(self._stderr.fileno()).st_size
        is_answered = False
        try:
            with contextlib.suppress(OSError):  # its death is told below
                pickle.dump((graph, inputs), self._process.stdin, pickle.HIGHEST_PROTOCOL)
                self._process.stdin.flush()
            answer = None
            while answer is None:
                with contextlib.suppress(queue.Empty):
                    answer = self._answers.get(timeout=_PATIENCE)
            is_answered = answer is not _END
        finally:
            if not is_answered:
                self._process.kill()
                self._process.wait()
        if not is_answered:
            raise ReferenceModelError(f"TOSA's reference model {self._death()}{self._words(begin)}")
        outputs, reason = answer
        if outputs is None:
            raise ReferenceModelError(f"TOSA's reference model: {reason}{self._words(begin)}")
        found: list[np.ndarray] = outputs
        return found

    def close(self) -> None:
        """End the child."""
        self._process.kill()
        self._process.wait()
        self._reader.join()
        for stream in (self._process.stdin, self._process.stdout, self._stderr):
            if stream is not None:
                with contextlib.suppress(OSError):  # what was written for a dead one
                    stream.close()

    def _read(self) -> None:
        """Take answers until the child has ended."""
        assert self._process.stdout is not None
        try:
            with contextlib.suppress(EOFError, OSError, pickle.UnpicklingError):
                while True:
                    self._answers.put(pickle.load(self._process.stdout))
        finally:
            self._answers.put(_END)

    def _death(self) -> str:
        code = self._process.wait(10)
        return f"died of {signal.Signals(-code).name}" if code < 0 else f"ended with code {code}"

    def _words(self, begin: int) -> str:
        """What it wrote since then, the last useful lines."""
        size = os.fstat(self._stderr.fileno()).st_size
        begin = max(begin, size - 20_000)
        text = os.pread(self._stderr.fileno(), size - begin, begin).decode(errors="replace")
        lines = [one.strip() for one in text.splitlines() if one.strip()]
        useful = [line for line in lines if not line.startswith("WARNING")]
        return f" ({'; '.join(line[:300] for line in useful[-3:])})" if useful else ""


_END = object()
_lock = threading.Lock()
_children: list[_Child] = []


def _current() -> _Child:
    if not _children or not _children[0].is_alive:
        _forget()
        _children.append(_Child())
    return _children[0]


def _forget() -> None:
    while _children:
        _children.pop().close()


def _after_fork() -> None:
    """The children are the parent's."""
    global _lock
    _lock = threading.Lock()
    _children.clear()


atexit.register(_forget)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
