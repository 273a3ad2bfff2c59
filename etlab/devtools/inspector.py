"""`Inspector`: what an ETDump says of a program's runs, and an ETRecord of where it comes from."""

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from torch.export import ExportedProgram

from etlab import display
from etlab.devtools.etdump import read_etdump, read_file
from etlab.devtools.events import (
    DELEGATE_CALL,
    OPERATOR_CALL,
    Event,
    EventBlock,
    PerfData,
    Reading,
    TimeScale,
    event_blocks,
    scale_between,
    table_rows,
)
from etlab.devtools.output_comparison import compare_results
from etlab.devtools.symbols import attach_nodes, attach_references
from etlab.errors import InvalidArgumentError
from etlab.exir.record.archive import parse_etrecord
from etlab.exir.record.etrecord import EDGE, ETRecord
from etlab.runtime import EventTrace

if TYPE_CHECKING:
    import pandas

    from etlab.devtools.numeric_gap import NumericalComparatorBase

__all__ = ["Event", "EventBlock", "Inspector", "PerfData", "TimeScale", "compare_results"]

_NOT_PRINTED = (
    "raw",
    "delegate_debug_identifier",
    "stack_traces",
    "module_hierarchy",
    "debug_data",
)


class Inspector:
    """Events of runs, with the operators, modules and source lines they belong to.

    Attributes:
        event_blocks: runs in which the same happened, together.
    """

    def __init__(
        self,
        etdump_path: str | Path | None = None,
        etdump_data: bytes | None = None,
        etrecord: ETRecord | str | Path | None = None,
        source_time_scale: TimeScale = TimeScale.NS,
        target_time_scale: TimeScale = TimeScale.MS,
        debug_buffer_path: str | Path | None = None,
        delegate_metadata_parser: Callable[[list[Any]], dict[str, Any]] | None = None,
        delegate_time_scale_converter: (
            Callable[[int | str, int | float], int | float] | None
        ) = None,
        enable_module_hierarchy: bool = False,
        reference_graph_name: str = EDGE,
        *,
        trace: EventTrace | None = None,
        method_name: str = "forward",
    ) -> None:
        """Read a dump.

        Args:
            etdump_path: of an .etdp file; either this, `etdump_data` or `trace` is given.
            etdump_data: its content.
            etrecord: of the same program, or the path of one.
            source_time_scale: of the device's clock.
            target_time_scale: of what is shown.
            debug_buffer_path: of the file with what instructions returned.
            delegate_metadata_parser: turns what a backend told into columns.
            delegate_time_scale_converter: turns a delegate's time into the target scale, by the
                node's name; by default delegates have the clock of the rest.
            enable_module_hierarchy: accepted for ExecuTorch's sake; modules are always there.
            reference_graph_name: of the ETRecord, where events find their operators.
            trace: runs in memory instead of files.
            method_name: whose runs these are; one ETRecord may have several.

        Raises:
            InvalidArgumentError: not exactly one dump is given, or cycles are mixed with time.
            AccessError: a file cannot be read.
            InvalidProgramError: a file is damaged, or no ETDump or ETRecord.
        """
        if (source_time_scale is TimeScale.CYCLES) != (target_time_scale is TimeScale.CYCLES):
            raise InvalidArgumentError(
                "Inspector: cycles are no time; give both time scales as cycles, or none"
            )
        if sum(given is not None for given in (etdump_path, etdump_data, trace)) != 1:
            raise InvalidArgumentError("Inspector: give one of etdump_path, etdump_data and trace")
        tensors = read_file(debug_buffer_path) if debug_buffer_path is not None else None
        record = parse_etrecord(etrecord) if isinstance(etrecord, str | Path) else etrecord
        if trace is not None:
            orders = record.value_orders(method_name) if record is not None else None
            etdump_data, tensors = trace.to_etdump(orders)
            tensors = tensors if trace.has_results else None
        elif etdump_path is not None:
            etdump_data = read_file(etdump_path)
        assert etdump_data is not None
        self._unit = target_time_scale.value
        reading = Reading(
            scale_between(source_time_scale, target_time_scale),
            tensors,
            delegate_metadata_parser,
            delegate_time_scale_converter,
            self._unit,
        )
        self.event_blocks: list[EventBlock] = event_blocks(read_etdump(etdump_data), reading)
        self._method = method_name
        self._etrecord = record
        if record is not None:
            attach_nodes(self.event_blocks, record, method_name, reference_graph_name)
            attach_references(self.event_blocks, record, method_name)

    @property
    def etrecord(self) -> ETRecord | None:
        """The record that was given."""
        return self._etrecord

    @property
    def method_name(self) -> str:
        """Whose runs these are."""
        return self._method

    def to_dataframe(
        self, include_units: bool = True, include_delegate_debug_data: bool = False
    ) -> "pandas.DataFrame":
        """One row an event, with ExecuTorch's columns.

        Args:
            include_units: write the unit behind the names of columns with times.
            include_delegate_debug_data: add what backends told.
        """
        import pandas

        rows = [
            row
            for block in self.event_blocks
            for row in table_rows(block, include_units, include_delegate_debug_data)
        ]
        return pandas.DataFrame(rows)

    def print_data_tabular(
        self,
        file: IO[str] | None = None,
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Print the events, calls of operators left out: their kernels stand beside them.

        Args:
            file: where to; standard output by default.
            include_units: write the unit behind the names of columns with times.
            include_delegate_debug_data: add what backends told.
        """
        frame = self._shown(include_units, include_delegate_debug_data)
        print(_as_text(frame), file=file or sys.stdout)

    def save_data_to_tsv(
        self,
        file: IO[str],
        include_units: bool = True,
        include_delegate_debug_data: bool = False,
    ) -> None:
        """Write what `print_data_tabular` prints, separated by tabs."""
        frame = self._shown(include_units, include_delegate_debug_data)
        frame.to_csv(file, sep="\t")

    def find_total_for_module(self, module_name: str) -> float:
        """Mean time of all that a module computes, in the target time scale.

        Where a delegate tells the times of its nodes, these count and not the call around them. It
        is a sum of parts, not how long the model would take with this module alone.

        Args:
            module_name: a part of the module's identifier, such as `layer1`.
        """
        total = 0.0
        for block in self.event_blocks:
            inside = {event.instruction_id for event in block.events if event.is_delegated_op}
            for event in block.events:
                is_counted_inside = event.name == DELEGATE_CALL and event.instruction_id in inside
                if event.name == OPERATOR_CALL or is_counted_inside or event.perf_data is None:
                    continue
                modules = event.module_hierarchy.values()
                if any(module_name in key for stack in modules for key in stack):
                    total += event.perf_data.avg
        return total

    def get_exported_program(
        self, graph: str | None = None
    ) -> ExportedProgram | dict[str, ExportedProgram] | None:
        """A program of the ETRecord; None when there is no ETRecord.

        Args:
            graph: its name; by default the edge program.

        Raises:
            NotFoundError: the ETRecord has no such graph.
        """
        if self._etrecord is None:
            warnings.warn(
                "the Inspector was made without an ETRecord, so it has no programs", stacklevel=2
            )
            return None
        if graph is None:
            return self._etrecord.edge_dialect_program
        return self._etrecord.graph(graph, self._method).program

    def calculate_numeric_gap(
        self,
        distance: "str | NumericalComparatorBase",
        disable_debug_handle_valdiation: bool = False,
        reference_graph: str | None = None,
    ) -> "pandas.DataFrame":
        """How far what the runtime computed is from what the recorded graph computes, by operator.

        Args:
            distance: "MSE", "L1", "SNR", a metric of `etlab.numerics`, or an object that compares.
            disable_debug_handle_valdiation: accepted for ExecuTorch's sake; what has no counterpart
                is left out.
            reference_graph: what is right: "edge_dialect_exported_program" (by default),
                "exported_program", or another graph of the ETRecord.

        Returns:
            One row a value: `aot_ops`, `aot_intermediate_output`, `runtime_ops`,
            `runtime_intermediate_output`, `gap` (a list, one number an output), `stacktraces`.

        Raises:
            InvalidArgumentError: there is no ETRecord with representative inputs, the dump has no
                values, or there is no such distance.
            NotFoundError: there is no such graph.
        """
        from etlab.devtools.numeric_gap import numeric_gap

        return numeric_gap(self, distance, reference_graph)

    def _shown(self, include_units: bool, include_delegate_debug_data: bool) -> "pandas.DataFrame":
        frame = self.to_dataframe(include_units, include_delegate_debug_data)
        if frame.empty:
            return frame
        frame = frame[frame.event_name != OPERATOR_CALL].drop(columns=list(_NOT_PRINTED))
        return frame.reset_index(drop=True)

    def __repr__(self) -> str:
        """One line."""
        runs = sum(block.runs for block in self.event_blocks if block.name == "Execute")
        events = sum(len(block.events) for block in self.event_blocks)
        record = "with" if self._etrecord is not None else "no"
        return f"Inspector({runs} runs, {events} events, {record} ETRecord)"

    def _repr_html_(self) -> str:
        frame = self._shown(True, False)
        numeric = [name for name in frame.columns if name.endswith(f"({self._unit})")]
        table = display.table(list(frame.columns), _cells(frame), numeric=numeric)
        return display.card("Inspector", table, subtitle=repr(self))


def _cells(frame: "pandas.DataFrame") -> list[list[str]]:
    return [[_text(value) for value in row] for row in frame.itertuples(index=False)]


def _as_text(frame: "pandas.DataFrame") -> str:
    return display.text_table(list(frame.columns), _cells(frame))


def _text(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.6g}"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return "" if value is None else str(value)
