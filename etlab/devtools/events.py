"""The events of an ETDump, put together over runs: what the Inspector shows."""

import statistics
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from etlab.devtools import etdump
from etlab.errors import InvalidProgramError
from etlab.runtime import dtype_of

if TYPE_CHECKING:
    import pandas

# The time of the call with what lies around it; the operator's own event stands beside it.
OPERATOR_CALL = "OPERATOR_CALL"
DELEGATE_CALL = "DELEGATE_CALL"
_WRAP = 2**32  # clocks of some devices have 32 bits


class TimeScale(Enum):
    """Units of time."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    CYCLES = "cycles"


_PER_SECOND = {TimeScale.NS: 1e9, TimeScale.US: 1e6, TimeScale.MS: 1e3, TimeScale.S: 1.0}


def scale_between(source: TimeScale, target: TimeScale) -> float:
    """What to multiply times in `source` by to have them in `target`; cycles stay cycles."""
    if TimeScale.CYCLES in (source, target):
        return 1.0
    return _PER_SECOND[target] / _PER_SECOND[source]


@dataclass(frozen=True, slots=True)
class PerfData:
    """How long an event took in every run, in the Inspector's target time scale."""

    raw: list[float]

    def _percentile(self, percent: float) -> float:
        return float(np.percentile(self.raw, percent))

    @property
    def p10(self) -> float:
        """A tenth of the runs took less."""
        return self._percentile(10)

    @property
    def p50(self) -> float:
        """The median."""
        return self._percentile(50)

    @property
    def p90(self) -> float:
        """A tenth of the runs took more."""
        return self._percentile(90)

    @property
    def avg(self) -> float:
        """The mean."""
        return statistics.fmean(self.raw)

    @property
    def min(self) -> float:
        """The quickest run."""
        return min(self.raw)

    @property
    def max(self) -> float:
        """The slowest run."""
        return max(self.raw)


@dataclass(slots=True)
class Event:
    """One event over all runs of its block.

    Attributes:
        name: of the operator's call, framework event, or delegate's node.
        perf_data: its times; what ran several times in one run (in a loop) is summed.
        op_types: operators of the model that it computes, when there is an ETRecord.
        delegate_debug_identifier: of a delegate's node; None for others.
        debug_handles: of the model's nodes that it computes, when there is an ETRecord.
        num_outputs: of a delegate.
        stack_traces: where these nodes stand in the model's source, by node.
        module_hierarchy: the modules that they are part of, by node.
        is_delegated_op: whether it is a delegate's node.
        delegate_backend_name: of a delegate's call or node, when there is an ETRecord.
        debug_data: what it returned in the first run (of a delegate call: all its arguments).
        start_time: of every run, as the device's clock has it.
        delegate_debug_metadatas: what the backend told in every run.
        instruction_id: of the instruction; None for the whole method.
    """

    name: str
    perf_data: PerfData | None = None
    op_types: list[str] = field(default_factory=list)
    delegate_debug_identifier: int | str | None = None
    debug_handles: tuple[int, ...] = ()
    num_outputs: int = 1
    stack_traces: dict[str, str] = field(default_factory=dict)
    module_hierarchy: dict[str, dict[str, Any]] = field(default_factory=dict)
    is_delegated_op: bool = False
    delegate_backend_name: str | None = None
    debug_data: list[Any] = field(default_factory=list)
    start_time: list[int] = field(default_factory=list)
    delegate_debug_metadatas: list[Any] | dict[str, Any] = field(default_factory=list)
    instruction_id: int | None = None


@dataclass(slots=True)
class EventBlock:
    """Runs in which the same events happened.

    Attributes:
        name: "Default" for the load of a method, "Execute" for runs.
        events: what happened, in order.
        bundled_input_index: which test case of a bundled program ran; None for none.
        run_output: outputs of the method in the first run.
        reference_output: the expected ones, when the ETRecord has them.
        runs: how many there were.
        unit: of the events' times.
    """

    name: str
    events: list[Event]
    bundled_input_index: int | None = None
    run_output: list[Any] = field(default_factory=list)
    reference_output: list[Any] | None = None
    runs: int = 1
    unit: str = "ms"

    def to_dataframe(
        self, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> "pandas.DataFrame":
        """One row an event; arguments as those of `Inspector.to_dataframe`."""
        import pandas

        return pandas.DataFrame(table_rows(self, include_units, include_delegate_debug_data))


@dataclass(frozen=True, slots=True)
class Reading:
    """How an ETDump is read.

    Attributes:
        scale: what times are multiplied by.
        tensors: content of the debug buffer; None without.
        metadata_parser: turns what a backend told of a node into columns.
        delegate_clock: turns a delegate's time into the target scale, by the event's name.
        unit: of the target scale.
    """

    scale: float = 1.0
    tensors: bytes | None = None
    metadata_parser: Callable[[list[Any]], dict[str, Any]] | None = None
    delegate_clock: Callable[[int | str, int | float], int | float] | None = None
    unit: str = TimeScale.MS.value


# (name, instruction or None, node of a delegate or None)
_Key = tuple[str, int | None, int | str | None]


@dataclass(slots=True)
class _Run:
    durations: dict[_Key, float] = field(default_factory=dict)
    starts: dict[_Key, int] = field(default_factory=dict)
    metadata: dict[_Key, Any] = field(default_factory=dict)
    values: dict[tuple[int, int | str | None], list[Any]] = field(default_factory=dict)
    outputs: list[Any] = field(default_factory=list)


def event_blocks(dump: etdump.ETDump, reading: Reading) -> list[EventBlock]:
    """The blocks of a dump.

    Raises:
        InvalidProgramError: a value lies outside of the debug buffer, or has no known dtype.
    """
    groups: dict[Any, list[_Run]] = {}
    for data in dump.run_data or ():
        run = _read_run(data, reading)
        signature = (data.name or "", data.bundled_input_index, tuple(run.durations))
        groups.setdefault(signature, []).append(run)
    return [
        EventBlock(
            name,
            [_event(key, runs, reading) for key in keys],
            index if index >= 0 else None,
            runs[0].outputs,
            None,
            len(runs),
            reading.unit,
        )
        for (name, index, keys), runs in groups.items()
    ]


def _read_run(data: etdump.RunData, reading: Reading) -> _Run:
    run = _Run()
    seen: set[tuple[int, int | str | None]] = set()  # instructions that ended: later values repeat
    for event in data.events or ():
        if event.profile_event is not None:
            _add_profile(run, event.profile_event, reading)
            place = (event.profile_event.instruction_id, event.profile_event.delegate_debug_id)
            if event.profile_event.name is not None or place in run.values:
                seen.add(place)
        elif event.debug_event is not None and event.debug_event.debug_entry is not None:
            _add_value(run, event.debug_event, seen, reading)
    return run


def _add_profile(run: _Run, event: etdump.ProfileEvent, reading: Reading) -> None:
    node = event.delegate_debug_id
    instruction = event.instruction_id if event.chain_index >= 0 else None
    key = (event.name or "" if node is None else str(node), instruction, node)
    start, end = event.start_time, event.end_time
    if node is not None and reading.delegate_clock is not None:
        clock = reading.delegate_clock
        duration = float(clock(key[0], end) - clock(key[0], start))
    else:
        wrapped = _WRAP if end < start < _WRAP else 0
        duration = (end + wrapped - start) * reading.scale
    run.durations[key] = run.durations.get(key, 0.0) + duration
    run.starts.setdefault(key, start)
    if event.delegate_debug_metadata:
        run.metadata.setdefault(key, event.delegate_debug_metadata)


def _add_value(run: _Run, event: etdump.DebugEvent, seen: Iterable[Any], reading: Reading) -> None:
    entry = event.debug_entry
    assert entry is not None
    if reading.tensors is None:
        return
    value = _value(entry, reading.tensors)
    if entry.output is not None and entry.output.bool_val:
        run.outputs.append(value)
        return
    node: int | str | None = event.delegate_debug_id_str
    if node is None and event.delegate_debug_id_int >= 0:
        node = event.delegate_debug_id_int
    place = (event.instruction_id, node)
    if place not in seen:
        run.values.setdefault(place, []).append(value)


def _event(key: _Key, runs: Sequence[_Run], reading: Reading) -> Event:
    name, instruction, node = key
    metadata: list[Any] | dict[str, Any] = [run.metadata.get(key, b"") for run in runs]
    if not any(metadata):
        metadata = []
    elif reading.metadata_parser is not None:
        metadata = reading.metadata_parser(list(metadata))
    values = runs[0].values.get((instruction, node), []) if instruction is not None else []
    return Event(
        name=name,
        perf_data=PerfData([run.durations[key] for run in runs]),
        delegate_debug_identifier=node,
        is_delegated_op=node is not None,
        debug_data=values,
        start_time=[run.starts[key] for run in runs],
        delegate_debug_metadatas=metadata,
        instruction_id=instruction,
    )


def _value(entry: etdump.Value, buffer: bytes) -> Any:
    if entry.tensor is not None:
        return _tensor(entry.tensor, buffer)
    if entry.tensor_list is not None:
        return [_tensor(one, buffer) for one in entry.tensor_list.tensors or ()]
    if entry.int_value is not None:
        return entry.int_value.int_val
    if entry.double_value is not None:
        return entry.double_value.double_val
    if entry.float_value is not None:
        return entry.float_value.float_val
    return entry.bool_value.bool_val if entry.bool_value is not None else None


def _tensor(stored: etdump.Tensor, buffer: bytes) -> torch.Tensor:
    """A copy of a stored tensor, whose elements lie without gaps."""
    sizes, strides = tuple(stored.sizes or ()), tuple(stored.strides or ())
    dtype = dtype_of(int(stored.scalar_type))
    if len(strides) != len(sizes) or any(size < 0 for size in sizes):
        raise InvalidProgramError(
            f"the ETDump has a tensor of sizes {sizes} with strides {strides}; it is damaged"
        )
    count = 1
    for size in sizes:
        count *= size
    if count == 0:
        return torch.empty(sizes, dtype=dtype)
    extent = 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))
    end = stored.offset + count * dtype.itemsize
    if stored.offset < 0 or end > len(buffer) or extent != count or min(strides, default=0) < 0:
        raise InvalidProgramError(
            f"the ETDump has a tensor {list(sizes)} at byte {stored.offset} of a debug buffer of"
            f" {len(buffer)} bytes; the buffer belongs to another dump, or one is damaged"
        )
    elements = torch.frombuffer(bytearray(buffer[stored.offset : end]), dtype=dtype)
    return elements.as_strided(sizes, strides).contiguous()


def table_rows(
    block: EventBlock, include_units: bool, include_delegate_debug_data: bool
) -> list[dict[str, Any]]:
    """The events of a block as rows of a table, with ExecuTorch's columns."""
    unit = f" ({block.unit})" if include_units else ""
    return [_table_row(block, event, unit, include_delegate_debug_data) for event in block.events]


def _table_row(block: EventBlock, event: Event, unit: str, with_metadata: bool) -> dict[str, Any]:
    times = event.perf_data
    operators: Any = event.op_types
    if len(operators) > 4:
        first, second, last = operators[0], operators[1], operators[-1]
        operators = f"['{first}', '{second}' ... '{last}'] ({len(event.op_types)} total)"
    row: dict[str, Any] = {"event_block_name": block.name, "event_name": event.name}
    row["raw"] = times.raw if times else None
    for name in ("p10", "p50", "p90", "avg", "min", "max"):
        row[name + unit] = getattr(times, name) if times else None
    row |= {
        "op_types": operators,
        "delegate_debug_identifier": event.delegate_debug_identifier,
        "stack_traces": event.stack_traces,
        "module_hierarchy": event.module_hierarchy,
        "is_delegated_op": event.is_delegated_op,
        "delegate_backend_name": event.delegate_backend_name or "",
        "debug_data": event.debug_data,
        "start_time": event.start_time,
    }
    if with_metadata:
        metadata = event.delegate_debug_metadatas
        row |= metadata if isinstance(metadata, dict) else {"delegate_debug_metadata": metadata}
    return row
