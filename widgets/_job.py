"""Work that a view starts in a thread of its own, so that the kernel stays free."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import traitlets

from etlab.errors import EtlabError, InterruptedExecutionError, InvalidArgumentError
from etlab.run import StageListener, listen


class Working(traitlets.HasTraits):
    """What a view inherits that exports or runs: it says what goes on, and stops when asked.

    `view.working` is the stage that runs, empty for none; `view.problem` is why the last work gave
    nothing. The view comes back to the state before when work fails or is stopped.
    """

    working = traitlets.Unicode("").tag(sync=True)
    problem = traitlets.Unicode("").tag(sync=True)

    def start(self, work: Callable[..., Any], *arguments: Any) -> None:
        """Call `work` with `arguments` in a thread.

        Raises:
            InvalidArgumentError: other work is going on.
        """
        if self._worker() is not None:
            raise InvalidArgumentError("the view is at work; stop it first, or wait")
        self._stop = threading.Event()
        self.working, self.problem = "starting", ""
        self._thread = threading.Thread(
            target=self._do, args=(work, arguments), name="etlab-view", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Ask the work to end: between stages, or inside native code."""
        if self._worker() is not None:
            self._stop.set()
            self.working = "stopping"

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for started work; whether it ended in time."""
        worker = self._worker()
        if worker is not None:
            worker.join(timeout)
        return self._worker() is None

    def _worker(self) -> threading.Thread | None:
        thread: threading.Thread | None = getattr(self, "_thread", None)
        return thread if thread is not None and thread.is_alive() else None

    def _do(self, work: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
        listener = StageListener(on_start=self._on_stage, should_stop=self._stop.is_set)
        try:
            with listen(listener):
                work(*arguments)
        except InterruptedExecutionError:
            self.problem = "stopped; what is shown is from before"
        except EtlabError as error:
            self.problem = str(error)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            with contextlib.suppress(RuntimeError):  # the front end is gone
                self.working = ""

    def _on_stage(self, stage: str) -> None:
        if not self._stop.is_set():
            self.working = stage
