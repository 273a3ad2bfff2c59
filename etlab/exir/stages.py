"""Stages of a lowering: named, timed, observable, and the place where a stop request is honoured.

Every part of the compiler that takes noticeable time wraps itself in `stage("name")`. Who wants
progress, timings or a Stop button listens; nobody else pays for it.
"""

import contextlib
import contextvars
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeVar

from etlab.errors import InterruptedExecutionError

if TYPE_CHECKING:
    from etlab.exir.edge import EdgeGraph

Item = TypeVar("Item")


@dataclass(slots=True)
class StageListener:
    """What one caller wants to know of, and how it asks for a stop.

    Attributes:
        on_start: called with the stage's name when it begins.
        should_stop: polled when a stage begins, and before every part of one that counts its parts;
            True raises `InterruptedExecutionError` there.
        on_part: called before every part of such a stage with the stage's name, the number of parts
            done, and of all parts if it is known.
        on_pass: called with an empty name and the graph before a sequence of passes, and after
            every pass that changed it with the pass's name.
        seconds: filled with the time of every finished stage, in order of their beginning.
    """

    on_start: Callable[[str], None] | None = None
    should_stop: Callable[[], bool] | None = None
    on_part: Callable[[str, int, int | None], None] | None = None
    on_pass: Callable[[str, "EdgeGraph"], None] | None = None
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


def parts(name: str, items: Iterable[Item], total: int | None = None) -> Iterator[Item]:
    """The items of a long stage one by one: each is announced, and a stop is honoured before it."""
    listener = _listener.get()
    for done, item in enumerate(items):
        if listener is not None and listener.should_stop is not None and listener.should_stop():
            raise InterruptedExecutionError(f"stopped in stage '{name}' after {done} parts")
        if listener is not None and listener.on_part is not None:
            listener.on_part(name, done, total)
        yield item
