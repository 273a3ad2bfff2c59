"""Work that a view starts in a thread of its own, so that the kernel stays free."""

import contextlib
import threading
from collections.abc import Callable
from typing import Any

import traitlets

from etlab.errors import EtlabError, InterruptedExecutionError, InvalidArgumentError
from etlab.run import StageListener, listen
from etlab.widgets._stopping import Stoppable, StopWork


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
        self._block = Stoppable()
        self.working, self.problem = "starting", ""
        self._thread = threading.Thread(
            target=self._do, args=(work, arguments), name="etlab-view", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """End the work: between stages, in native code, and wherever Python runs."""
        if self._worker() is not None:
            self.working = "stopping"
            end = self._block.end
            threading.Thread(target=end, args=(lambda: None,), daemon=True).start()

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
        block = self._block
        listener = StageListener(on_start=self._on_stage, should_stop=lambda: block.is_asked)

        def listening() -> None:
            with listen(listener):
                work(*arguments)

        try:
            block.call(listening)
        except (InterruptedExecutionError, StopWork):
            self.problem = "stopped; what is shown is from before"
        except EtlabError as error:
            self.problem = str(error)
        except Exception as error:
            self.problem = f"{type(error).__name__}: {error}"
        finally:
            with contextlib.suppress(RuntimeError):  # the front end is gone
                self.working = ""

    def _on_stage(self, stage: str) -> None:
        if not self._block.is_asked:
            self.working = stage
