"""What runs of a method did and when: events in memory, and ETDump files of them."""

import dataclasses
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, overload

import torch

from etlab.errors import AccessError
from etlab.runtime import _native
from etlab.runtime.metadata import MethodMeta
from etlab.runtime.tensors import allocate_tensor

if TYPE_CHECKING:
    import pandas

# By instruction that calls a delegate, and value: which dimension of the result each one is.
ValueOrders = Mapping[int, Mapping[int, Sequence[int]]]


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeResult:
    """A value that a node of a delegate wrote.

    Attributes:
        value: the backend's number of the value, in XNNPACK payloads its id.
        raw: a copy of the elements as the backend holds them, integers where it computes in
            integers. The sizes are the backend's: an XNNPACK payload has them in the order of
            memory, so a channels-last picture is (batch, height, width, channels).
        scale: float32, 0-d or broadcasting against `raw` (one for each row); None where elements
            are the numbers themselves.
        zero_point: int32, of the same shape.
    """

    value: int
    raw: torch.Tensor
    scale: torch.Tensor | None = None
    zero_point: torch.Tensor | None = None

    @property
    def tensor(self) -> torch.Tensor:
        """The numbers: `raw`, in float32 where they are quantized."""
        if self.scale is None or self.zero_point is None:
            return self.raw
        return (self.raw.to(torch.int32) - self.zero_point).to(torch.float32) * self.scale


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
class NodeEvent:
    """One node of a delegate that ran.

    Attributes:
        name: its kind, as the backend calls it.
        debug_handle: what the backend's compiler gave it.
        start: nanoseconds of a steady clock.
        duration: nanoseconds.
        index: its place in the delegate's graph; None for steps that the backend added itself, such
            as conversions. Nodes that the backend runs as part of another one are not told of.
        results: what it wrote, when results were asked for.
    """

    name: str
    debug_handle: int
    start: int
    duration: int
    index: int | None = None
    results: tuple[NodeResult, ...] = ()


@dataclasses.dataclass(frozen=True, slots=True, eq=False)
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

    def results_by_handle(self) -> dict[int, NodeResult]:
        """What the delegate's nodes wrote, by debug handle.

        Of nodes that share a handle the last one counts; the backend's own steps and further
        results of a node are left out.
        """
        return {
            node.debug_handle: node.results[0]
            for node in self.nodes
            if node.index is not None and node.results
        }


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

    def __init__(
        self, native: _native.Method, metadata: MethodMeta, *, results: bool | set[int]
    ) -> None:
        """An empty trace; `Method.trace` makes them."""
        self._method = native
        self._metadata = metadata
        self._native = _native.Trace(results)
        self._instructions = metadata.instructions
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
    def bundled_input_index(self) -> int | None:
        """Which test case of a bundled program the next runs are marked with; None for none."""
        index = self._native.bundled_input_index
        return index if index >= 0 else None

    @bundled_input_index.setter
    def bundled_input_index(self, index: int | None) -> None:
        self._native.bundled_input_index = -1 if index is None else index

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

    def to_etdump(self, value_orders: ValueOrders | None = None) -> tuple[bytes, bytes]:
        """The content of an .etdp file, and of the debug buffer with the results it refers to.

        Args:
            value_orders: how values within delegates lie, from `ETRecord.value_orders(method)`;
                without it the results of delegates' nodes are left out.

        Raises:
            NotSupportedError: more events than a file holds.
        """
        return write_etdump([self], {self.method_name: value_orders or {}})

    def save(
        self,
        path: str | Path,
        debug_buffer_path: str | Path | None = None,
        value_orders: ValueOrders | None = None,
    ) -> None:
        """Write an .etdp file, and the results beside it if there is a path for them.

        Args:
            path: of the .etdp file.
            debug_buffer_path: of the results.
            value_orders: as `to_etdump` has it.

        Raises:
            AccessError: a place cannot be written.
        """
        save_etdump([self], path, debug_buffer_path, {self.method_name: value_orders or {}})

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
        description = self._instructions[instruction]
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
            tuple(map(_node_event, nodes)),
            tuple(results),
        )


def _node_event(record: "_native.NodeRecord") -> NodeEvent:
    name, index, handle, begin, end, results = record
    return NodeEvent(name, handle, begin, end - begin, index, tuple(map(_node_result, results)))


def _node_result(record: "_native.NodeResultRecord") -> NodeResult:
    value, raw, scales, zero_points = record
    if not scales:
        return NodeResult(value, raw)
    sizes = _row_sizes(raw.shape, len(scales))
    return NodeResult(
        value,
        raw,
        torch.tensor(scales, dtype=torch.float32).reshape(sizes),
        torch.tensor(zero_points, dtype=torch.int32).reshape(sizes),
    )


def _row_sizes(sizes: Sequence[int], rows: int) -> tuple[int, ...]:
    """The leading sizes that make so many rows, with a 1 for each other dimension."""
    if rows == 1:
        return ()
    kept = next(k for k in range(len(sizes) + 1) if math.prod(sizes[:k]) == rows)
    return (*sizes[:kept], *(1 for _ in sizes[kept:]))


def write_etdump(
    traces: Sequence[EventTrace], value_orders: Mapping[str, ValueOrders] | None = None
) -> tuple[bytes, bytes]:
    """An ETDump of several methods, with orders by method; as `EventTrace.to_etdump`."""
    known = value_orders or {}
    orders = [
        {
            instruction: {value: list(order) for value, order in values.items()}
            for instruction, values in known.get(trace.method_name, {}).items()
        }
        for trace in traces
    ]
    return _native.write_etdump(
        [
            (trace._metadata._native, trace._method, trace._native, own)
            for trace, own in zip(traces, orders, strict=True)
        ]
    )


def save_etdump(
    traces: Sequence[EventTrace],
    path: str | Path,
    debug_buffer_path: str | Path | None = None,
    value_orders: Mapping[str, ValueOrders] | None = None,
) -> None:
    """Write an ETDump of several methods, with orders by method; as `EventTrace.save`."""
    events, tensors = write_etdump(traces, value_orders)
    for place, content in ((path, events), (debug_buffer_path, tensors)):
        if place is None:
            continue
        try:
            Path(place).write_bytes(content)
        except OSError as error:
            raise AccessError(f"cannot write '{os.fspath(place)}': {error.strerror}") from error
