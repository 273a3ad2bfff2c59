"""`EdgeProgramManager`: edge programs between `to_edge` and `to_executorch`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.exir.collector import quiet_collector
from etlab.exir.config import EdgeCompileConfig, ExecutorchBackendConfig
from etlab.exir.edge import EdgeGraph, PassRecord
from etlab.exir.executorch_program import ExecutorchProgramManager, lower_to_executorch
from etlab.exir.graph import copy_edge_graph
from etlab.exir.partition.partitioner import Partitioner
from etlab.exir.passes.base import Pass
from etlab.exir.passes.pipeline import EMISSION_PASSES, EXTENDED_EMISSION_PASSES, run_passes
from etlab.exir.record.etrecord import ETRecord, required
from etlab.exir.stages import stage
from etlab.exir.verify import verify

PassType = Pass | Callable[..., Any]
Passes = Sequence[PassType] | Mapping[str, Sequence[PassType]] | None
Partitioners = Partitioner | Sequence[Partitioner] | Mapping[str, Any] | None


class EdgeProgramManager:
    """Edge programs, one a method, between `to_edge` and `to_executorch`.

    Managers are values: `transform` and `to_backend` return a new one and leave this one alone.
    """

    def __init__(
        self,
        edge_graphs: Mapping[str, EdgeGraph],
        constant_methods: Mapping[str, Any] | None = None,
        compile_config: EdgeCompileConfig | None = None,
        etrecord: ETRecord | None = None,
    ) -> None:
        self._edge_graphs = dict(edge_graphs)
        self._constant_methods = dict(constant_methods or {})
        self.compile_config = compile_config or EdgeCompileConfig()
        self._exported: dict[str, ExportedProgram] = {}
        self._etrecord = etrecord

    @property
    def methods(self) -> set[str]:
        """Names of the methods."""
        return set(self._edge_graphs)

    @property
    def config_methods(self) -> set[str]:
        """Names of the constant methods."""
        return set(self._constant_methods)

    @property
    def edge_graphs(self) -> Mapping[str, EdgeGraph]:
        """The graphs themselves; copy one (`copy_edge_graph`) before editing it."""
        return self._edge_graphs

    def edge_graph(self, method_name: str = "forward") -> EdgeGraph:
        """The graph of one method.

        Raises:
            NotFoundError: there is no such method.
        """
        if method_name not in self._edge_graphs:
            raise NotFoundError(
                f"no method '{method_name}'; there are: {', '.join(sorted(self.methods))}"
            )
        return self._edge_graphs[method_name]

    def pass_records(self, method_name: str = "forward") -> tuple[PassRecord, ...]:
        """What every pass did to the method so far, in order."""
        return tuple(self.edge_graph(method_name).history)

    def exported_program(self, method_name: str = "forward") -> ExportedProgram:
        """The method as a `torch.export.ExportedProgram` that runs, built when first asked for."""
        from etlab.exir.exported import to_exported_program

        if method_name not in self._exported:
            self._exported[method_name] = to_exported_program(self.edge_graph(method_name))
        return self._exported[method_name]

    def transform(
        self, passes: Passes, compile_config: EdgeCompileConfig | None = None
    ) -> "EdgeProgramManager":
        """Run passes over a copy.

        Args:
            passes: for all methods, or by method name; `etlab.exir.passes.base.Pass` objects, or
                torch.fx passes (callables from a GraphModule to a PassResult).
            compile_config: replaces the one of `to_edge`.
        """
        graphs = dict(self._edge_graphs)
        with quiet_collector(), stage("edge passes"):
            for name, own in by_method(passes, graphs).items():
                graphs[name] = run_passes(copy_edge_graph(graphs[name]), own or ())
        return self._next(graphs, compile_config)

    def to_backend(self, partitioner: Partitioners) -> "EdgeProgramManager":
        """Hand parts of the graphs to backends.

        Args:
            partitioner: one, several applied in order, or those by method name.
        """
        from etlab.exir.partition.lower import partition_and_lower

        graphs = dict(self._edge_graphs)
        with quiet_collector(), stage("partition"):
            for name, own in by_method(partitioner, graphs).items():
                for one in as_list(own):
                    graph = run_passes(copy_edge_graph(graphs[name]), one.edge_passes())
                    graphs[name] = partition_and_lower(graph, one)
        return self._next(graphs, None)

    def to_executorch(
        self, config: ExecutorchBackendConfig | None = None
    ) -> ExecutorchProgramManager:
        """Plan the memory and write the program.

        Args:
            config: options of the emission.

        Raises:
            InvalidArgumentError: `config` is something else.
        """
        if config is not None and not isinstance(config, ExecutorchBackendConfig):
            raise InvalidArgumentError(
                f"to_executorch: expected an ExecutorchBackendConfig, got {type(config).__name__}"
            )
        is_extended = config is not None and config.extended_operators
        passes = EXTENDED_EMISSION_PASSES if is_extended else EMISSION_PASSES
        graphs: dict[str, EdgeGraph] = {}
        with quiet_collector():
            with stage("edge passes"):
                for name, graph in self._edge_graphs.items():
                    graphs[name] = run_passes(copy_edge_graph(graph), passes)
            program = lower_to_executorch(
                graphs, constant_methods=self._constant_methods, config=config
            )
        if self._etrecord is not None:
            program._etrecord = self._etrecord.copy()
            program._etrecord.add_executorch_program(program)
        return program

    def get_etrecord(self) -> ETRecord:
        """The record of this lowering so far; the result of `to_executorch` has it whole.

        Raises:
            InvalidArgumentError: it was not asked for.
        """
        return required(self._etrecord)

    def _next(
        self, graphs: Mapping[str, EdgeGraph], config: EdgeCompileConfig | None
    ) -> "EdgeProgramManager":
        config = config or self.compile_config
        if config._check_ir_validity:
            for graph in graphs.values():
                # Which operators have kernels is asked at the end: backends may still take some.
                verify(graph, allow=None)
        methods = _with_answers(self._constant_methods, graphs)
        return EdgeProgramManager(graphs, methods, config, self._etrecord)


def by_method(given: Any, methods: Iterable[str]) -> dict[str, Any]:
    """What each method gets: the same for all, or its own entry."""
    names = list(methods)
    if not isinstance(given, Mapping):
        return dict.fromkeys(names, given)
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise NotFoundError(
            f"no method {', '.join(map(repr, unknown))}; there are: {', '.join(sorted(names))}"
        )
    return dict(given)


def as_list(given: Any) -> list[Any]:
    """One partitioner, several or none as a list."""
    if given is None:
        return []
    return list(given) if isinstance(given, Sequence) else [given]


def _with_answers(
    constant_methods: Mapping[str, Any], graphs: Mapping[str, EdgeGraph]
) -> dict[str, Any]:
    """The constant methods with those that passes added."""
    answers: dict[str, Any] = {}
    for graph in graphs.values():
        for name, value in graph.constant_methods.items():
            if answers.setdefault(name, value) != value:
                raise InvalidArgumentError(
                    f"two methods of the program ask for a constant method '{name}'; give"
                    " their passes method_name="
                )
    return {**constant_methods, **answers}
