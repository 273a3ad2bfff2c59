"""What runs of a method did and when: events in memory, and ETDump files of them."""

import dataclasses
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

from etlab.errors import AccessError
from etlab.runtime import _native
from etlab.runtime.metadata import MethodMeta
from etlab.runtime.tensors import allocate_tensor

if TYPE_CHECKING:
    import pandas


@dataclasses.dataclass(frozen=True, slots=True)
class NodeEvent:
    """One node of a delegate that ran.

    Attributes:
        name: its kind, as the backend calls it.
        debug_handle: what the backend's compiler gave it.
        start: nanoseconds of a steady clock.
        duration: nanoseconds.
    """

    name: str
    debug_handle: int
    start: int
    duration: int


@dataclasses.dataclass(frozen=True, slots=True)
class TraceEvent:
    """One instruction that ran.

    Attributes:
        instruction: its index in the method.
        name: operator or backend; for other instructions their kind.
        start: nanoseconds of a steady clock.
        duration: nanoseconds.
        result: a copy of what it returned, when results were asked for: a list of several (of a
            delegate: its last output).
        nodes: what ran inside of a delegate, where its backend tells.
        results: copies of what it returned, one by one; of a delegate its inputs, then its outputs.
    """

    instruction: int
    name: str
    start: int
    duration: int
    result: Any = None
    nodes: tuple[NodeEvent, ...] = ()
    results: tuple[Any, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True)
class RunTrace:
    """One run.

    Attributes:
        start: of the first instruction, nanoseconds of a steady clock.
        duration: of all instructions with what lies between them, nanoseconds. Taking the inputs
            and giving the outputs is not in it.
        events: the instructions as they ran.
        outputs: of the method, when results were asked for.
    """

    start: int
    duration: int
    events: tuple[TraceEvent, ...]
    outputs: tuple[Any, ...] = ()


class EventTrace(Sequence[TraceEvent]):
    """The events of all recorded runs of a method, in order.

    Runs are recorded natively and become Python objects when they are first looked at.
    """

    def __init__(self, native: _native.Method, metadata: MethodMeta, *, results: bool) -> None:
        """An empty trace; `Method.trace` makes them."""
        self._method = native
        self._metadata = metadata
        self._native = _native.Trace(results)
        self._runs: list[RunTrace] = []
        self._events: list[TraceEvent] = []

    @property
    def method_name(self) -> str:
        """The method that ran."""
        return self._metadata.name()

    @property
    def has_results(self) -> bool:
        """Whether the events hold what instructions returned."""
        return self._native.keeps_results

    @property
    def runs(self) -> Sequence[RunTrace]:
        """Every run that ended well."""
        for index in range(len(self._runs), self._native.run_count):
            run = self._read(index)
            self._runs.append(run)
            self._events.extend(run.events)
        return tuple(self._runs)

    @property
    def load_seconds(self) -> float:
        """How long it took to load the method."""
        begin, _, end = self._method.load_times
        return (end - begin) * 1e-9

    def to_etdump(self) -> tuple[bytes, bytes]:
        """The content of an .etdp file, and of the debug buffer with the results it refers to.

        Raises:
            NotSupportedError: more events than a file holds.
        """
        return write_etdump([self])

    def save(self, path: str | Path, debug_buffer_path: str | Path | None = None) -> None:
        """Write an .etdp file, and the results beside it if there is a path for them.

        Raises:
            AccessError: a place cannot be written.
        """
        save_etdump([self], path, debug_buffer_path)

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row an event: run, instruction, name, start and duration in nanoseconds."""
        import pandas

        rows = [
            (number, event.instruction, event.name, event.start, event.duration)
            for number, run in enumerate(self.runs)
            for event in run.events
        ]
        columns = ["run", "instruction", "name", "start_ns", "duration_ns"]
        return pandas.DataFrame(rows, columns=columns)

    def clear(self) -> None:
        """Forget all runs."""
        self._native.clear()
        self._runs, self._events = [], []

    def _all(self) -> list[TraceEvent]:
        _ = self.runs
        return self._events

    @overload
    def __getitem__(self, index: int) -> TraceEvent: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[TraceEvent]: ...
    def __getitem__(self, index: int | slice) -> TraceEvent | Sequence[TraceEvent]:
        """An event, or several."""
        return self._all()[index]

    def __len__(self) -> int:
        """How many instructions ran."""
        return len(self._all())

    def __iter__(self) -> Iterator[TraceEvent]:
        """The events in order."""
        return iter(self._all())

    def __repr__(self) -> str:
        """One line."""
        return f"EventTrace({self.method_name}: {len(self.runs)} runs, {len(self)} events)"

    def _read(self, index: int) -> RunTrace:
        begin, end, records, outputs = self._native.run(index, allocate_tensor)
        events = tuple(map(self._event, records))
        return RunTrace(begin, end - begin, events, tuple(outputs))

    def _event(self, record: "_native.TraceRecord") -> TraceEvent:
        instruction, begin, end, results, nodes = record
        description = self._metadata.instructions[instruction]
        result: Any = None
        if len(results) == 1 or (results and description.kind == "delegate"):
            result = results[-1]
        elif results:
            result = list(results)
        return TraceEvent(
            instruction,
            description.name or description.kind,
            begin,
            end - begin,
            result,
            tuple(
                NodeEvent(name, handle, first, last - first) for name, handle, first, last in nodes
            ),
            tuple(results),
        )


def write_etdump(traces: Sequence[EventTrace]) -> tuple[bytes, bytes]:
    """An ETDump of several methods; as `EventTrace.to_etdump`."""
    return _native.write_etdump(
        [(trace._metadata._native, trace._method, trace._native) for trace in traces]
    )


def save_etdump(
    traces: Sequence[EventTrace], path: str | Path, debug_buffer_path: str | Path | None = None
) -> None:
    """Write an ETDump of several methods; as `EventTrace.save`."""
    events, tensors = write_etdump(traces)
    for place, content in ((path, events), (debug_buffer_path, tensors)):
        if place is None:
            continue
        try:
            Path(place).write_bytes(content)
        except OSError as error:
            raise AccessError(f"cannot write '{os.fspath(place)}': {error.strerror}") from error
