"""Python code that native code calls, backends and kernels: stopping it, taking its results."""

import contextlib
import ctypes
import threading
from collections.abc import Iterator
from typing import Any

import torch

from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.runtime.tensors import TensorDescription, as_tensor, describe_tensor


class StoppedError(BaseException):
    """Raised inside Python code that a method runs when the method is interrupted.

    No `Exception`, so that code which catches all of these ends as well.
    """

    is_interruption = True  # asked for by `fail_with_traceback` of the bindings


_lock = threading.Lock()
_running: dict[int, int] = {}  # threads within `stoppable`, and how often


@contextlib.contextmanager
def stoppable() -> Iterator[None]:
    """Let `stop_python` end what runs in this thread until the block ends."""
    thread = threading.get_ident()
    with _lock:
        _running[thread] = _running.get(thread, 0) + 1
    try:
        yield
    finally:
        with _lock:
            _running[thread] -= 1
            if not _running[thread]:
                del _running[thread]


def stop_python(thread: int) -> None:
    """Raise StoppedError in a thread, if it is within `stoppable`; elsewhere do nothing.

    It is raised between two steps of the interpreter: a call into C code ends first.
    """
    with _lock:
        if thread in _running:
            ctypes.pythonapi.PyThreadState_SetAsyncExc(
                ctypes.c_ulong(thread), ctypes.py_object(StoppedError)
            )


class WrongResultError(InvalidArgumentError):
    """Python code returned what is no tensor; the message says all, a traceback would be ours."""

    needs_no_traceback = True  # asked for by `fail_with_traceback` of the bindings


class RefusedError(NotSupportedError):
    """A delegate that cannot run here; the message says why, a traceback would tell nothing."""

    needs_no_traceback = True  # asked for by `fail_with_traceback` of the bindings


def describe_results(returned: Any, who: str) -> tuple[list[TensorDescription], list[torch.Tensor]]:
    """What native code copies: one tensor or array, or a list or tuple of them.

    Raises:
        WrongResultError: an item is none; the message begins with `who`.
    """
    items = returned if isinstance(returned, list | tuple) else [returned]
    try:
        outputs = [as_tensor(item, f"{who}, output {index}") for index, item in enumerate(items)]
    except InvalidArgumentError as error:
        raise WrongResultError(str(error)) from None
    return [describe_tensor(output) for output in outputs], outputs
