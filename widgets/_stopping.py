"""Ending work that does not listen: PyTorch's export asks nobody whether it should go on."""

import ctypes
import threading
from collections.abc import Callable

_PATIENCE = 0.3  # seconds that work which listens has for its end, then work that was struck
_AGAIN = 2.0  # seconds after which work that went on all the same is struck again


class StopWork(BaseException):
    """Raised within work that was stopped."""


class Stoppable:
    """A call that another thread can end.

    Python raises `StopWork` in it at its next instruction, as it raises KeyboardInterrupt in a
    notebook's cell; `finally` blocks run. It is never raised outside of the call.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._thread = 0  # that is in the call; 0 before and after
        self._asked = threading.Event()
        self._over = threading.Event()

    @property
    def is_asked(self) -> bool:
        """Whether it should end: what listens asks this."""
        return self._asked.is_set()

    def call(self, work: Callable[[], None]) -> None:
        """Do `work` in this thread.

        Raises:
            StopWork: it was ended.
        """
        self._thread = threading.get_ident()
        try:
            try:
                work()
            finally:
                self._close()
        except StopWork:
            self._close()  # it may have come when the work had ended, at the first `_close`
            raise

    def end(self, on_silence: Callable[[], None]) -> None:
        """Let the work end by itself, and raise in it when it does not; another thread's part.

        Args:
            on_silence: called once if it goes on all the same, in code that is not Python.
        """
        self._asked.set()
        if self._over.wait(_PATIENCE):
            return
        self._strike()
        if self._over.wait(_PATIENCE):
            return
        on_silence()
        while not self._over.wait(_AGAIN):
            self._strike()

    def skip(self) -> None:
        """There is nothing to end: it will not be called."""
        self._over.set()

    def ask(self) -> None:
        """Ask those that listen to end."""
        self._asked.set()

    def _strike(self) -> None:
        with self._lock:
            if self._thread:
                _set_exception(self._thread, StopWork)

    def _close(self) -> None:
        with self._lock:
            _set_exception(threading.get_ident(), None)  # one that has not been raised yet
            self._thread = 0
        self._over.set()


def _set_exception(thread: int, kind: type[BaseException] | None) -> None:
    given = None if kind is None else ctypes.py_object(kind)
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), given)
