"""Stages of a lowering: named, timed, observable, and the place where a stop request is honoured.

Every part of the compiler that takes noticeable time wraps itself in `stage("name")`. Who wants
progress, timings or a Stop button listens; nobody else pays for it.
"""

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from etlab.errors import InterruptedExecutionError


@dataclass(slots=True)
class StageListener:
    """What one caller wants to know of, and how it asks for a stop.

    Attributes:
        on_start: called with the stage's name when it begins.
        should_stop: polled when a stage begins; True raises `InterruptedExecutionError` there.
        seconds: filled with the time of every finished stage, in order of their beginning.
    """

    on_start: Callable[[str], None] | None = None
    should_stop: Callable[[], bool] | None = None
    seconds: dict[str, float] = field(default_factory=dict)


_listener: contextvars.ContextVar[StageListener | None] = contextvars.ContextVar(
    "etlab_stage_listener", default=None
)


def current() -> StageListener | None:
    """The listener of this thread and context, if any."""
    return _listener.get()


@contextlib.contextmanager
def listen(listener: StageListener) -> Iterator[StageListener]:
    """Make `listener` the one that stages report to, inside this block and thread."""
    token = _listener.set(listener)
    try:
        yield listener
    finally:
        _listener.reset(token)


@contextlib.contextmanager
def stage(name: str) -> Iterator[None]:
    """Run a block as the stage `name`."""
    listener = _listener.get()
    if listener is None:
        yield
        return
    if listener.should_stop is not None and listener.should_stop():
        raise InterruptedExecutionError(f"stopped before stage '{name}'")
    if listener.on_start is not None:
        listener.on_start(name)
    listener.seconds.setdefault(name, 0.0)
    begin = time.perf_counter()
    try:
        yield
    finally:
        listener.seconds[name] += time.perf_counter() - begin
