"""What computes in the place of hardware that is not here, for as long as somebody asks for it."""

import contextlib
import contextvars
from collections.abc import Iterator

_active: contextvars.ContextVar[frozenset[str]] = contextvars.ContextVar(
    "etlab_stand_ins", default=frozenset()
)


@contextlib.contextmanager
def standing_in(name: str) -> Iterator[None]:
    """Let delegates that are loaded within the block compute with a stand-in.

    Args:
        name: of the stand-in, such as "tosa", TOSA's reference model in the place of an NPU.
    """
    token = _active.set(_active.get() | {name})
    try:
        yield
    finally:
        _active.reset(token)


def stands_in(name: str) -> bool:
    """Whether a delegate that is loaded now is to compute with the stand-in of that name.

    >>> with standing_in("tosa"):
    ...     stands_in("tosa")
    True
    """
    return name in _active.get()
