"""From edge graphs to a program file: the second half of a lowering. Read this first.

schedule and memory plan (`method_plans`)  ->  emit  ->  file
"""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, TypeVar

from torch import fx

from etlab.errors import AccessError, InvalidArgumentError, NotFoundError
from etlab.exir.config import ExecutorchBackendConfig
from etlab.exir.edge import EdgeGraph, PassRecord
from etlab.exir.emit.dump import dump_program
from etlab.exir.emit.emitter import Emission, EmitOptions, emit_program
from etlab.exir.emit.file import FileImage, assemble
from etlab.exir.emit.input_bounds import input_bounds
from etlab.exir.emit.schema import Program
from etlab.exir.graph import copy_edge_graph
from etlab.exir.memory.plan import MemoryPlan
from etlab.exir.memory.planning import MemoryPlanningPass, PlannedMemory
from etlab.exir.memory_pools import choose_memories
from etlab.exir.method_plans import plan_methods, schedule_methods
from etlab.exir.partition.host_only import HOST_TAG
from etlab.exir.passes.pipeline import run_passes
from etlab.exir.record.etrecord import ETRecord, required
from etlab.exir.record.handles import (
    DelegateMap,
    HandleMap,
    debug_handle_map,
    delegate_map,
    output_counts,
)
from etlab.exir.stages import stage

_Found = TypeVar("_Found")


class ExecutorchProgramManager:
    """A lowered program: its file, and what it was made of."""

    def __init__(
        self,
        graphs: Mapping[str, EdgeGraph],
        memory: Mapping[str, PlannedMemory],
        emission: Emission,
        image: FileImage,
        program: Program,
        config: ExecutorchBackendConfig,
    ) -> None:
        """Made by `lower_to_executorch`."""
        self._config = config
        self._graphs = dict(graphs)
        self._memory = dict(memory)
        self._emission = emission
        self._image = image
        self._program = program
        self._buffer: bytes | None = None
        self._etrecord: ETRecord | None = None

    @property
    def methods(self) -> set[str]:
        """Names of the methods that were lowered."""
        return set(self._graphs)

    @property
    def buffer(self) -> bytes:
        """The file's content.

        Raises:
            InvalidArgumentError: a weight was changed in place since the program was made.
        """
        if self._buffer is None:
            self._emission.check_unchanged()
            self._buffer = self._image.to_bytes()
        return self._buffer

    @property
    def executorch_program(self) -> Program:
        """The file's FlatBuffer as dataclasses."""
        return self._program

    @property
    def nbytes(self) -> int:
        """Size of the file."""
        return self._image.nbytes

    @property
    def _tensor_data(self) -> dict[str, bytes]:
        """Content of the .ptd files that the program needs, by ExecuTorch's names (no suffix)."""
        self._emission.check_unchanged()
        images = self._emission.external.images()
        return {tag: image.to_bytes() for tag, image in images if tag != HOST_TAG}

    def data_files(self) -> dict[str, bytes]:
        """Content of the .ptd files that the program needs, by file name.

        Raises:
            InvalidArgumentError: a weight was changed in place since the program was made.
        """
        return {tensor_file_name(tag): data for tag, data in self._tensor_data.items()}

    def host_data(self) -> bytes:
        """Content of a .ptd file with what is for computers only; empty where there is nothing."""
        images = dict(self._emission.external.images())
        return images[HOST_TAG].to_bytes() if HOST_TAG in images else b""

    def write_tensor_data_to_file(self, outdir: str | Path) -> None:
        """Write the .ptd files that the program needs into the folder `outdir`.

        Raises:
            InvalidArgumentError: a weight was changed in place since the program was made.
            AccessError: the place cannot be written; the message says why.
        """
        self._emission.check_unchanged()
        for tag, image in self._emission.external.images():
            if tag == HOST_TAG:
                continue
            _write(Path(outdir) / tensor_file_name(tag), image)

    def write_to_file(self, open_file: IO[bytes]) -> None:
        """Write the program to a file opened in binary mode, without assembling it in memory."""
        self._emission.check_unchanged()
        self._image.write(open_file)

    def save(self, path: str | Path) -> None:
        """Write the program to `path`, whose suffix must be `.pte`.

        Raises:
            InvalidArgumentError: it has another suffix.
            AccessError: the place cannot be written; the message says why.
        """
        path = Path(path)
        if path.suffix != ".pte":
            raise InvalidArgumentError(
                f"a program's file name must end with .pte, not {path.name!r}"
            )
        self._emission.check_unchanged()
        _write(path, self._image)

    def exported_program(self, method_name: str = "forward") -> Any:
        """The method's edge graph as an `ExportedProgram`."""
        from etlab.exir.exported import to_exported_program

        return to_exported_program(self.edge_graph(method_name))

    def edge_graph(self, method_name: str = "forward") -> EdgeGraph:
        """The graph that a method was made from; not to be edited."""
        return self._of(self._graphs, method_name)

    def pass_records(self, method_name: str = "forward") -> tuple[PassRecord, ...]:
        """What every pass did to the method, in order."""
        return tuple(self.edge_graph(method_name).history)

    def memory_plan(
        self, method: str = "forward", planning: MemoryPlanningPass | None = None
    ) -> MemoryPlan:
        """Where the method's tensors lie, or where they would with other planning.

        Args:
            method: its name.
            planning: plan all methods so instead; the program stays as it is.

        Raises:
            MemoryPlanError: a memory would be too small.
        """
        if planning is None:
            return self._of(self._memory, method).describe()
        self._of(self._memory, method)
        config = dataclasses.replace(self._config, memory_planning_pass=planning)
        return plan_methods(schedule_methods(self._graphs, config), config)[method].describe()

    def memory_planning(self, method: str = "forward") -> MemoryPlanningPass:
        """How the method's memory was planned."""
        self._of(self._memory, method)
        return self._config.planning_of(method)

    def instruction_nodes(self, method: str = "forward") -> tuple[str, ...]:
        """Names of the nodes of `edge_graph(method)` that its instructions came from.

        What stands in the body of a branch or loop came from the node that runs the body; an
        instruction without a node has an empty name.
        """
        memory = self._of(self._memory, method)
        owners = _owners(self.edge_graph(method))
        return tuple("" if node is None else owners.get(node, "") for node in memory.nodes)

    @property
    def debug_handle_map(self) -> dict[str, HandleMap]:
        """By method and instruction, the debug handles of the nodes that it came from."""
        return {
            name: debug_handle_map(self._graphs[name], memory.nodes)
            for name, memory in self._memory.items()
        }

    @property
    def delegate_map(self) -> dict[str, DelegateMap]:
        """By method and instruction that calls a delegate, its backend and its nodes' handles."""
        return {
            name: delegate_map(self._graphs[name], memory.nodes)
            for name, memory in self._memory.items()
        }

    @property
    def instruction_id_to_num_outs_map(self) -> dict[str, dict[int, int]]:
        """By method and instruction that calls a delegate, how many outputs it has."""
        return {
            name: output_counts(self._graphs[name], memory.nodes)
            for name, memory in self._memory.items()
        }

    def get_etrecord(self) -> ETRecord:
        """The record of this lowering; InvalidArgumentError when it was not asked for."""
        return required(self._etrecord)

    def dump_executorch_program(self, *, verbose: bool = False, out: IO[str] | None = None) -> None:
        """Print the program as text, to `out` or the standard output."""
        print(dump_program(self._program, verbose=verbose), file=out)

    def _of(self, table: Mapping[str, _Found], method: str) -> _Found:
        if method not in table:
            names = ", ".join(sorted(table))
            raise NotFoundError(f"there is no method '{method}'; the program has: {names}")
        return table[method]


def tensor_file_name(tag: str) -> str:
    """The name of the .ptd file that a tag stands for."""
    return f"{tag}.ptd"


def _write(path: Path, image: FileImage) -> None:
    try:
        with path.open("wb") as file:
            image.write(file)
    except OSError as error:
        folder = "" if path.parent.is_dir() else f"; the folder {path.parent} does not exist"
        raise AccessError(f"cannot write '{path}': {error.strerror}{folder}") from error


def _owners(graph: EdgeGraph) -> dict[fx.Node, str]:
    """Every node of a graph and of the bodies in it, to the name of the outermost node."""
    owners: dict[fx.Node, str] = {}
    for node in graph.graph.nodes:
        owners[node] = node.name
        for source in node.all_input_nodes:
            body = graph.submodules.get(str(source.target)) if source.op == "get_attr" else None
            if isinstance(body, EdgeGraph):
                owners.update(dict.fromkeys(_owners(body), node.name))
    return owners


def lower_to_executorch(
    methods: Mapping[str, EdgeGraph],
    *,
    constant_methods: Mapping[str, Any] | None = None,
    config: ExecutorchBackendConfig | None = None,
) -> ExecutorchProgramManager:
    """Make a program of edge graphs.

    Args:
        methods: verified edge graphs by method name; they are not edited (`config.passes` get
            copies).
        constant_methods: methods that return a constant, by name.
        config: options.

    Raises:
        UnsupportedOperatorError: operators that no program can hold, all of them.
        LoweringError: something else that no program can hold.
    """
    config = config or ExecutorchBackendConfig()
    graphs = _run_passes(methods, config)
    with stage("to out variants"):
        schedules = schedule_methods(graphs, config)
    with stage("memory plan"):
        planning = {
            name: choose_memories(config.planning_of(name), schedules[name], graph)
            for name, graph in graphs.items()
        }
        config = dataclasses.replace(config, memory_planning_pass=planning)
        memory = plan_methods(schedules, config)
    with stage("emit"):
        options = EmitOptions(
            emit_stacktrace=config.emit_stacktrace,
            emit_mutable_buffer_names=config.emit_mutable_buffer_names,
            extract_delegate_segments=config.extract_delegate_segments,
            constant_alignment=config.constant_tensor_alignment or 16,
            delegate_alignment=config.delegate_alignment or 16,
            external_alignment=max(
                config.segment_alignment, config.constant_tensor_alignment or 16
            ),
        )
        pairs = {name: (schedules[name], memory[name]) for name in schedules}
        emission = emit_program(pairs, constant_methods or {}, options, input_bounds(graphs))
    with stage("serialize"):
        image, program = assemble(
            emission.program, emission.segments, alignment=config.segment_alignment
        )
    return ExecutorchProgramManager(graphs, memory, emission, image, program, config)


def _run_passes(
    methods: Mapping[str, EdgeGraph], config: ExecutorchBackendConfig
) -> dict[str, EdgeGraph]:
    """The graphs after the user's passes, which edit copies."""
    if not config.passes:
        return dict(methods)
    graphs = {name: copy_edge_graph(graph) for name, graph in methods.items()}
    with stage("edge passes"):
        for graph in graphs.values():
            run_passes(graph, config.passes)
    return graphs
