"""Stopping what is already running: a stop request reaches native code and child processes."""

import contextlib
import threading
from collections.abc import Callable, Iterator

from etlab.exir import stages

_POLL_SECONDS = 0.05


@contextlib.contextmanager
def interruptible(interrupt: Callable[[], None]) -> Iterator[None]:
    """Call `interrupt` as soon as the stage listener of this context asks for a stop.

    Without such a listener nothing is started.
    """
    listener = stages.current()
    if listener is None or listener.should_stop is None:
        yield
        return
    should_stop = listener.should_stop
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(_POLL_SECONDS):
            if should_stop():
                interrupt()
                return

    watcher = threading.Thread(target=watch, name="etlab-stop", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        finished.set()
        watcher.join()
