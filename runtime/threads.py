"""How many threads kernels use: one setting for the process."""

from etlab.errors import InvalidArgumentError
from etlab.runtime import _native

_MOST_THREADS = 1024  # as in runtime/core/threads.cpp; larger numbers need not fit there


def thread_count() -> int:
    """How many threads kernels may use; the number of physical processors until it is set."""
    return _native.thread_count()


def set_thread_count(count: int) -> None:
    """Let kernels use `count` threads, delegates included; results do not depend on it.

    Raises:
        InvalidArgumentError: `count` is no whole number from 1 to 1024.
    """
    if not isinstance(count, int) or isinstance(count, bool):
        raise InvalidArgumentError(
            f"thread count: expected a whole number, got {type(count).__name__} {count!r}"
        )
    if not 1 <= count <= _MOST_THREADS:
        raise InvalidArgumentError(f"thread count: expected 1 to {_MOST_THREADS}, got {count}")
    _native.set_thread_count(count)
