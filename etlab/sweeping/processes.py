"""A sweep over worker processes of this machine: spawned, never forked; a death is a result."""

import contextlib
import json
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from etlab.sweeping.trial import Outcome

_POLL_SECONDS = 0.05
_WORKER_BYTES = 3 << 29  # of a worker with torch loaded, 1.5 GiB, beside copies of the model
_COPIES = 8  # of the model's bytes that an export may hold


def processors() -> int:
    """How many this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def sensible_workers(tasks: int, work_bytes: int) -> int:
    """As many as there are tasks and processors, and as fit into half of this machine's memory."""
    try:
        memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):  # a system that does not say
        memory = 8 << 30
    fitting = memory // 2 // (_WORKER_BYTES + _COPIES * work_bytes)
    return max(1, min(tasks, processors(), fitting))


class Quiet:
    """Many may compute at once, but who measures time does so alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._computing = 0
        self._is_timing = False

    def begin(self) -> None:
        """Compute, as soon as nobody measures time."""
        with self._changed:
            self._changed.wait_for(lambda: not self._is_timing)
            self._computing += 1

    def end(self) -> None:
        """Compute no longer."""
        with self._changed:
            self._computing -= 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def alone(self) -> Iterator[None]:
        """Within `begin` and `end`: wait until nobody else computes, and keep it so."""
        with self._changed:
            self._computing -= 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: not self._computing and not self._is_timing)
            self._is_timing = True
        try:
            yield
        finally:
            with self._changed:
                self._is_timing = False
                self._computing += 1
                self._changed.notify_all()


class _Workers:
    """Threads that each keep one worker process busy."""

    def __init__(self, work: Path, indices: Sequence[int], workers: int) -> None:
        self.outcomes: queue.Queue[Outcome] = queue.Queue()
        self._work = work
        self._setup = json.dumps(
            {
                "path": [entry or str(Path.cwd()) for entry in sys.path],
                "threads": max(1, processors() // workers),
                "work": str(work),
            }
        )
        self._waiting: queue.Queue[int] = queue.Queue()
        for index in indices:
            self._waiting.put(index)
        self._quiet = Quiet()
        self._lock = threading.Lock()
        self._children: set[subprocess.Popen[str]] = set()
        self._is_stopped = False
        self._threads = [
            threading.Thread(target=self._serve, args=(number,), name="etlab-sweep", daemon=True)
            for number in range(workers)
        ]
        for thread in self._threads:
            thread.start()

    def stop(self) -> None:
        """End all workers at once."""
        with self._lock:
            self._is_stopped = True
            for child in self._children:
                child.kill()
        for thread in self._threads:
            thread.join()

    def _serve(self, number: int) -> None:
        with (self._work.parent / f"errors-{number}.txt").open("w+") as errors:
            child: subprocess.Popen[str] | None = None
            while not self._is_stopped:
                try:
                    index = self._waiting.get_nowait()
                except queue.Empty:
                    break
                begin = time.perf_counter()
                reason = ""
                outcome = None
                self._quiet.begin()
                try:
                    child = child or self._start(errors)
                    outcome = None if child is None else self._ask(child, index)
                except OSError as error:
                    reason = f"no worker process could be started: {error}"
                finally:
                    self._quiet.end()
                if outcome is None and not self._is_stopped:
                    reason = reason or _death(child, errors)
                    outcome = Outcome(index, {}, reason, time.perf_counter() - begin)
                    if child is not None:
                        self._end(child)
                    child = None
                if outcome is not None:
                    self.outcomes.put(outcome)
            if child is not None:
                self._end(child)

    def _start(self, errors: IO[str]) -> "subprocess.Popen[str] | None":
        with self._lock:
            if self._is_stopped:
                return None
            child = subprocess.Popen(
                [sys.executable, "-P", "-m", "etlab.sweeping.child"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=errors,
                text=True,
            )
            self._children.add(child)
        _say(child, self._setup)
        return child

    def _ask(self, child: "subprocess.Popen[str]", index: int) -> Outcome | None:
        """The outcome; None when the process ends before."""
        assert child.stdout is not None
        _say(child, str(index))
        line = child.stdout.readline()
        if line == "quiet\n":
            with self._quiet.alone():
                _say(child, "alone")
                line = child.stdout.readline()
        return Outcome(**json.loads(line)) if line.endswith("}\n") else None

    def _end(self, child: "subprocess.Popen[str]") -> None:
        with self._lock:
            self._children.discard(child)
        assert child.stdin is not None
        assert child.stdout is not None
        with contextlib.suppress(OSError):
            child.stdin.close()
        child.stdout.close()
        child.kill()
        child.wait()


def run_processes(
    work: bytes, indices: Sequence[int], workers: int, check_stop: Callable[[], None]
) -> Generator[Outcome, None, None]:
    """Outcomes as they come.

    Args:
        work: pickled.
        indices: of the configurations to measure.
        workers: how many processes.
        check_stop: called several times a second; raises to stop.
    """
    with tempfile.TemporaryDirectory(prefix="etlab-sweep-") as folder:
        path = Path(folder) / "work.pickle"
        path.write_bytes(work)
        running = _Workers(path, indices, workers)
        try:
            for _ in indices:
                while True:
                    try:
                        outcome = running.outcomes.get(timeout=_POLL_SECONDS)
                        break
                    except queue.Empty:
                        check_stop()
                yield outcome
        finally:
            running.stop()


def _say(child: Any, line: str) -> None:
    with contextlib.suppress(OSError):  # a dead child is seen when it is read
        child.stdin.write(line + "\n")
        child.stdin.flush()


def _death(child: "subprocess.Popen[str] | None", errors: IO[str]) -> str:
    """Why a process ended, with the end of what it wrote."""
    assert child is not None
    code = child.wait()
    known = {one.value: one.name for one in signal.Signals}
    name = known.get(-code, f"exit code {code}")
    errors.seek(0)
    words = " ".join(errors.read()[-600:].split())
    said = f"; it wrote last: {words}" if words else ""
    out_of_memory = " (perhaps out of memory: try fewer workers)" if name == "SIGKILL" else ""
    return f"the worker process ended with {name}{out_of_memory}{said}"
