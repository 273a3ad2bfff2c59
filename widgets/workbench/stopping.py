"""Ending a round that does not listen: PyTorch's export asks nobody whether it should go on."""

import ctypes
import threading

_PATIENCE = 0.3  # seconds; a round that listens has ended by then


class StopRound(BaseException):
    """Raised within the thread of a round that was stopped."""


def end_thread(thread: threading.Thread) -> None:
    """Let a thread end by itself, and raise `StopRound` in it when it does not.

    Python raises at the thread's next instruction, as it raises KeyboardInterrupt in a notebook's
    cell; `finally` blocks run. Native runs have been interrupted by then.
    """
    thread.join(_PATIENCE)
    if thread.is_alive() and thread.ident is not None:
        ctypes.pythonapi.PyThreadState_SetAsyncExc(
            ctypes.c_ulong(thread.ident), ctypes.py_object(StopRound)
        )
