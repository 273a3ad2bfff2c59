"""One piece of work after the other in a thread of its own, each of which can be stopped."""

import threading
from collections.abc import Callable

from etlab.widgets._stopping import Stoppable

_Work = Callable[[Stoppable], None]
_POLL = 0.05  # seconds


class Worker:
    """What a bench does beside the kernel's own thread.

    Args:
        on_busy: called when something begins.
        on_idle: called when nothing is done any longer; with True where stopped work did not end,
            as it is in code that is not Python. It is given up then: what starts next waits for it.
    """

    def __init__(self, on_busy: Callable[[], None], on_idle: Callable[[bool], None]) -> None:
        self._on_busy, self._on_idle = on_busy, on_idle
        self._lock = threading.RLock()  # of the three below
        self._block: Stoppable | None = None  # what is done
        self._next: _Work | None = None
        self._idle = threading.Event()
        self._idle.set()
        self._turn = threading.Lock()  # of the work, also of what was given up

    @property
    def is_busy(self) -> bool:
        """Whether something is done."""
        return self._block is not None

    def is_current(self, block: Stoppable) -> bool:
        """Whether this is done, and was not given up."""
        return self._block is block

    def start(self, work: _Work) -> None:
        """Do it now, or after what is done now unless something waits for that already."""
        with self._lock:
            if self._block is None:
                self._begin(work)
            elif self._next is None:
                self._next = work

    def call(self, work: _Work) -> None:
        """Do it in this thread, after what is done now."""
        while True:
            self._idle.wait()
            with self._lock:
                if self._block is None:
                    block = self._take()
                    break
        self._do(block, work)

    def replace(self, work: _Work) -> None:
        """Stop what is done now for this."""
        self.stop(work)

    def stop(self, then: _Work | None = None) -> None:
        """End what is done: between stages, inside native code, and wherever Python runs."""
        with self._lock:
            self._next, block = then, self._block
            if block is None:
                if then is not None:
                    self._begin(then)
                self._next = None
                return
        block.ask()
        threading.Thread(
            target=block.end,
            args=(lambda: self._free(block, is_silent=True),),
            name="etlab-stop",
            daemon=True,
        ).start()

    def wait(self, timeout: float | None = None) -> bool:
        """Until nothing is done; whether that came in time."""
        return self._idle.wait(timeout)

    def _take(self) -> Stoppable:
        self._block = Stoppable()
        self._idle.clear()
        self._on_busy()
        return self._block

    def _begin(self, work: _Work) -> None:
        threading.Thread(
            target=self._do, args=(self._take(), work), name="etlab-workbench", daemon=True
        ).start()

    def _do(self, block: Stoppable, work: _Work) -> None:
        try:
            while not self._turn.acquire(timeout=_POLL):
                if block.is_asked:
                    return
            try:
                work(block)
            finally:
                self._turn.release()
        finally:
            block.skip()
            self._free(block)

    def _free(self, block: Stoppable, *, is_silent: bool = False) -> None:
        """Go on to what is next, unless this is what was given up before."""
        with self._lock:
            if self._block is not block:
                return
            self._block = None
            work, self._next = self._next, None
            if work is None:
                self._on_idle(is_silent)
                self._idle.set()
            else:
                self._begin(work)
