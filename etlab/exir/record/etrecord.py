"""`ETRecord`: the graphs of a lowering and the way from instructions back to their nodes."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.exir.edge import EdgeGraph
from etlab.exir.record.graph_json import (
    RecordNode,
    StoredProgram,
    fx_nodes,
    load_program,
    store_edge_graph,
    store_program,
)

if TYPE_CHECKING:
    from etlab.exir.edge_program import EdgeProgramManager

EXPORTED = "exported_program"
EDGE = "edge_dialect_exported_program"
# Files of the format itself, whose names no graph may have.
IDENTIFIER = "ETRECORD_V0"
MAPS = ("debug_handle_map", "delegate_map", "instruction_id_to_num_outs_map")
TENSORS = ("reference_outputs", "representative_inputs")


@dataclass(eq=False)
class RecordedProgram:
    """A graph in whatever form it is at hand; the others are made when they are asked for."""

    source: ExportedProgram | EdgeGraph | StoredProgram = field(repr=False)
    graph_id: int = 0

    @cached_property
    def stored(self) -> StoredProgram:
        """As files; raises what `store_program` does."""
        if isinstance(self.source, EdgeGraph):
            return store_edge_graph(self.source, self.graph_id)
        if isinstance(self.source, ExportedProgram):
            return store_program(self.source)
        return self.source

    @cached_property
    def program(self) -> ExportedProgram:
        """As a program that runs; raises what `load_program` does."""
        from etlab.exir.exported import to_exported_program

        if isinstance(self.source, StoredProgram):
            return load_program(self.source)
        if isinstance(self.source, EdgeGraph):
            return to_exported_program(self.source)
        return self.source

    @cached_property
    def nodes(self) -> list[RecordNode]:
        """The nodes that call something."""
        if isinstance(self.source, StoredProgram):
            return self.source.nodes
        return fx_nodes(self.source.graph)


@dataclass(eq=False)
class ETRecord:
    """What was recorded of a lowering.

    Attributes:
        exported: the program that came from `torch.export`.
        export_graph_id: a number that its nodes' descendants name it by.
        edge: the edge graphs before partitioning, by method.
        graphs: further graphs by `name/method`.
        debug_handle_map: by method and instruction, the debug handles of what it came from.
        delegate_map: by method and instruction, the backend and the handles of its nodes.
        instruction_id_to_num_outs_map: by method and instruction, how many outputs a delegate has.
        reference_outputs: by method, the outputs to compare with, for each set of inputs.
        representative_inputs: flat inputs that tools may run the graphs on.
    """

    exported: RecordedProgram | None = field(default=None, repr=False)
    export_graph_id: int = 0
    edge: dict[str, RecordedProgram] = field(default_factory=dict, repr=False)
    graphs: dict[str, RecordedProgram] = field(default_factory=dict, repr=False)
    debug_handle_map: dict[str, dict[str, Any]] | None = field(default=None, repr=False)
    delegate_map: dict[str, dict[str, Any]] | None = field(default=None, repr=False)
    instruction_id_to_num_outs_map: dict[str, dict[str, Any]] | None = field(
        default=None, repr=False
    )
    reference_outputs: dict[str, list[Sequence[Any]]] | None = field(default=None, repr=False)
    representative_inputs: list[Any] | None = field(default=None, repr=False)

    @property
    def exported_program(self) -> ExportedProgram | None:
        """The program of `torch.export`.

        Raises:
            InvalidProgramError: it cannot be read.
        """
        return self.exported.program if self.exported is not None else None

    @property
    def edge_dialect_program(self) -> ExportedProgram | dict[str, ExportedProgram] | None:
        """The edge program; by method when there are others than "forward".

        Raises:
            InvalidProgramError: it cannot be read.
        """
        programs = {name: one.program for name, one in self.edge.items()}
        return programs["forward"] if set(programs) == {"forward"} else programs or None

    @property
    def graph_map(self) -> dict[str, ExportedProgram]:
        """Further programs by `name/method`; raises as `exported_program`."""
        return {name: one.program for name, one in self.graphs.items()}

    def value_orders(self, method: str = "forward") -> dict[int, dict[int, tuple[int, ...]]]:
        """How delegates' values lie, by instruction and value; for `EventTrace.to_etdump`."""
        return {
            int(instruction): {
                int(value): tuple(order) for value, order in one.get("value_orders", {}).items()
            }
            for instruction, one in (self.delegate_map or {}).get(method, {}).items()
        }

    def graph(self, name: str, method: str = "forward") -> RecordedProgram:
        """A recorded graph: "exported_program", "edge_dialect_exported_program", or another's name.

        Raises:
            NotFoundError: there is none of that name; the message says which there are.
        """
        found = {f"{EDGE}/{key}": one for key, one in self.edge.items()} | self.graphs
        if self.exported is not None:
            found[EXPORTED] = self.exported
        for key in (name, f"{name}/{method}"):
            if key in found:
                return found[key]
        raise NotFoundError(
            f"the ETRecord has no graph '{name}'; it has: {', '.join(sorted(found)) or 'none'}"
        )

    def add_exported_program(
        self, exported_program: ExportedProgram | Mapping[str, ExportedProgram] | None
    ) -> None:
        """Record the program of `torch.export`: of several, "forward" or else the first.

        Raises:
            InvalidArgumentError: there is one already.
        """
        if exported_program is None:
            return
        if self.exported is not None:
            raise InvalidArgumentError("the ETRecord has an exported program already")
        if isinstance(exported_program, Mapping):
            names = sorted(exported_program)
            exported_program = exported_program["forward" if "forward" in names else names[0]]
        self.exported = RecordedProgram(exported_program)
        self.export_graph_id = id(exported_program.graph)

    def add_edge_dialect_program(self, edge_dialect_program: "EdgeProgramManager") -> None:
        """Record the edge graphs of a manager.

        Raises:
            InvalidArgumentError: there are some already.
        """
        if self.edge:
            raise InvalidArgumentError("the ETRecord has an edge dialect program already")
        self.edge = {
            name: RecordedProgram(graph, self.export_graph_id)
            for name, graph in edge_dialect_program.edge_graphs.items()
        }

    def add_executorch_program(self, executorch_program: Any) -> None:
        """Record where a program's instructions came from.

        Args:
            executorch_program: what `to_executorch` returned, or a `BundledProgram` of it, whose
                inputs and expected outputs are recorded too.

        Raises:
            InvalidArgumentError: there is a program already, or this one knows no instructions.
        """
        if self.debug_handle_map is not None:
            raise InvalidArgumentError("the ETRecord has an executorch program already")
        manager = executorch_program
        if hasattr(executorch_program, "method_test_suites"):
            manager = executorch_program.executorch_program
            self.update_representative_inputs(executorch_program)
            self.update_reference_outputs(executorch_program)
        if not hasattr(manager, "debug_handle_map"):
            raise InvalidArgumentError(
                "add_executorch_program: expected what to_executorch returned, or a BundledProgram"
                f" of that, got {type(executorch_program).__name__} of {type(manager).__name__}:"
                " the file alone does not say where its instructions came from"
            )
        self.debug_handle_map = _with_text_keys(manager.debug_handle_map)
        self.delegate_map = _with_text_keys(manager.delegate_map)
        self.instruction_id_to_num_outs_map = _with_text_keys(
            manager.instruction_id_to_num_outs_map
        )

    def add_extra_export_modules(self, extra_recorded_export_modules: Mapping[str, Any]) -> None:
        """Record further graphs: exported programs or edge managers, by a name of the user's.

        Raises:
            InvalidArgumentError: a name is the format's own, or a value is something else.
        """
        for name, module in extra_recorded_export_modules.items():
            if name in (EXPORTED, EDGE, IDENTIFIER, *MAPS, *TENSORS):
                raise InvalidArgumentError(f"'{name}' is a name of the ETRecord itself")
            if isinstance(module, ExportedProgram):
                self.graphs[f"{name}/forward"] = RecordedProgram(module)
            elif hasattr(module, "edge_graphs"):
                for method, graph in module.edge_graphs.items():
                    self.graphs[f"{name}/{method}"] = RecordedProgram(graph, self.export_graph_id)
            else:
                raise InvalidArgumentError(
                    f"add_extra_export_modules: '{name}' must be an ExportedProgram or an"
                    f" EdgeProgramManager, not {type(module).__name__}"
                )

    def update_representative_inputs(self, representative_inputs: Any) -> None:
        """Set the inputs to run graphs on: a flat list, or the first case of a BundledProgram."""
        if hasattr(representative_inputs, "method_test_suites"):
            cases = _suite(representative_inputs).test_cases
            representative_inputs = list(cases[0].inputs) if cases else []
        self.representative_inputs = list(representative_inputs)

    def update_reference_outputs(self, reference_outputs: Any) -> None:
        """Set the expected outputs: by method one list a case, or those of a BundledProgram."""
        if hasattr(reference_outputs, "method_test_suites"):
            reference_outputs = {
                suite.method_name: [list(case.expected_outputs) for case in suite.test_cases]
                for suite in reference_outputs.method_test_suites
            }
        elif not isinstance(reference_outputs, Mapping):
            reference_outputs = {"forward": list(reference_outputs)}
        self.reference_outputs = dict(reference_outputs)

    def copy(self) -> "ETRecord":
        """The same graphs without what belongs to a program."""
        return ETRecord(self.exported, self.export_graph_id, dict(self.edge), dict(self.graphs))

    def save(self, path: str | Path | IO[bytes]) -> None:
        """Write the record to a path, or to a file opened in binary mode.

        Raises:
            InvalidArgumentError: the edge program or the executorch program is missing.
            NotSupportedError: torch cannot write one of the graphs.
            AccessError: the place cannot be written.
        """
        from etlab.exir.record.archive import write_archive

        write_archive(self, path)

    def __repr__(self) -> str:
        """One line."""
        names = [EXPORTED] if self.exported is not None else []
        names += [f"{EDGE}/{name}" for name in self.edge] + list(self.graphs)
        counts = sum(len(handles) for handles in (self.debug_handle_map or {}).values())
        return f"ETRecord({', '.join(names) or 'no graphs'}; {counts} instructions)"


def required(record: ETRecord | None) -> ETRecord:
    """A manager's record.

    Raises:
        InvalidArgumentError: there is none.
    """
    if record is None:
        raise InvalidArgumentError(
            "get_etrecord: no record was made; lower with generate_etrecord=True, as in"
            " to_edge_transform_and_lower(programs, generate_etrecord=True)"
        )
    return record


def _with_text_keys(by_method: Mapping[str, Mapping[int, Any]]) -> dict[str, dict[str, Any]]:
    """As a file has them, so that a record in memory and one read are the same."""
    return json.loads(json.dumps(by_method))  # type: ignore[no-any-return]


def _suite(bundled: Any) -> Any:
    suites = {suite.method_name: suite for suite in bundled.method_test_suites}
    return suites.get("forward") or next(iter(suites.values()))
