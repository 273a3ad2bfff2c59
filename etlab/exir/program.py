"""The way through the compiler: `to_edge`, `to_edge_transform_and_lower`, `EdgeProgramManager`.

    exported = torch.export.export(model, inputs)
    program = to_edge_transform_and_lower(exported, partitioner=[...]).to_executorch()
    program.save("model.pte")

Export → `decompose` → edge passes → partition → (`to_executorch`) emission passes → `lower`.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.exir.collector import quiet_collector
from etlab.exir.config import EdgeCompileConfig, ExecutorchBackendConfig
from etlab.exir.decompose import decompose, take_apart
from etlab.exir.decompose.operators import EXPANDED_LATER, has_kernel
from etlab.exir.decompose.walk import NodeFilter
from etlab.exir.edge import EdgeGraph, PassRecord
from etlab.exir.executorch_program import ExecutorchProgramManager, lower_to_executorch
from etlab.exir.graph import copy_edge_graph, mutated_targets
from etlab.exir.partition.partitioner import Partitioner
from etlab.exir.passes.base import Pass
from etlab.exir.passes.pipeline import (
    EMISSION_PASSES,
    EXTENDED_EMISSION_PASSES,
    edge_passes,
    run_passes,
)
from etlab.exir.record.etrecord import ETRecord, required
from etlab.exir.stages import stage
from etlab.exir.verify import verify

__all__ = [
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "to_edge",
    "to_edge_transform_and_lower",
]

Programs = ExportedProgram | Mapping[str, ExportedProgram]
PassType = Pass | Callable[..., Any]
Passes = Sequence[PassType] | Mapping[str, Sequence[PassType]] | None
Kept = dict[OpOverload, NodeFilter | None]
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
            for name, own in _by_method(passes, graphs).items():
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
            for name, own in _by_method(partitioner, graphs).items():
                for one in _sequence(own):
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


def to_edge(
    programs: Programs,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """Bring exported programs to the edge dialect: functional core ATen operators with kernels.

    Args:
        programs: one exported program (method "forward"), or several by method name.
        constant_methods: values that the program answers by name.
        compile_config: how strict to be.
        generate_etrecord: keep what `get_etrecord` gives.

    Raises:
        UnsupportedOperatorError: operators that nothing serves, all of them with source lines.
        LoweringError: a program cannot be brought over.
    """
    named = _named(programs)
    manager = _to_edge(named, constant_methods, compile_config or EdgeCompileConfig(), {})
    if generate_etrecord:
        manager._etrecord = _record(named, manager)
    return manager


def to_edge_transform_and_lower(
    programs: Programs,
    transform_passes: Passes = None,
    partitioner: Partitioners = None,
    constant_methods: Mapping[str, Any] | None = None,
    compile_config: EdgeCompileConfig | None = None,
    generate_etrecord: bool = False,
) -> EdgeProgramManager:
    """`to_edge`, then passes, then partitioners, which may keep operators from being taken apart.

    Args:
        programs: one exported program (method "forward"), or several by method name.
        transform_passes: passes to run before partitioning, for all methods or by name.
        partitioner: one, several applied in order, or those by method name.
        constant_methods: values that the program answers by name.
        compile_config: how strict to be.
        generate_etrecord: keep what `get_etrecord` gives.

    Raises:
        UnsupportedOperatorError: operators that neither a kernel nor a backend serves.
        LoweringError: a program cannot be brought over.
    """
    named = _named(programs)
    partitioners = {name: _sequence(own) for name, own in _by_method(partitioner, named).items()}
    config = compile_config or EdgeCompileConfig()
    keep = _kept_for_backends(named, partitioners)
    manager = _to_edge(named, constant_methods, config, keep)
    if transform_passes:
        manager = manager.transform(transform_passes)
    if not any(partitioners.values()):
        manager = _take_apart_leftovers(manager, keep)
        if generate_etrecord:
            manager._etrecord = _record(named, manager)
        return manager
    if generate_etrecord:
        manager._etrecord = _record(named, manager)
    return _take_apart_leftovers(manager.to_backend(partitioners), keep)


def _record(programs: Mapping[str, ExportedProgram], manager: EdgeProgramManager) -> ETRecord:
    """A record of the graphs before partitioning; partitioning leaves them as they are."""
    record = ETRecord()
    record.add_exported_program(programs)
    record.add_edge_dialect_program(manager)
    return record


def _kept_for_backends(
    programs: Mapping[str, ExportedProgram], partitioners: Mapping[str, Sequence[Partitioner]]
) -> dict[str, Kept]:
    """Operators that the partitioners of each method want whole, and where."""
    keep: dict[str, Kept] = {name: {} for name in programs}
    for name, own in partitioners.items():
        for partitioner in own:
            operators, wanted_at = partitioner.ops_to_not_decompose(programs[name])
            for target in operators:
                keep[name][target] = _either(keep[name].get(target, wanted_at), wanted_at)
    return keep


def _either(first: NodeFilter | None, second: NodeFilter | None) -> NodeFilter | None:
    """A filter that holds where one of two does; None holds everywhere."""
    if first is None or second is None:
        return None
    return lambda node: first(node) or second(node)


def _take_apart_leftovers(
    manager: EdgeProgramManager, keep: Mapping[str, Kept]
) -> EdgeProgramManager:
    """Decompose what was kept whole for a backend that then did not take it."""
    config = manager.compile_config
    wanted = set(config.preserve_ops) | set(config._core_aten_ops_exception_list)
    for name, operators in keep.items():
        edge = manager.edge_graph(name)
        leftovers = {o for o in operators.keys() - wanted if not has_kernel(o)} - EXPANDED_LATER
        with quiet_collector(), stage("decompose"):
            if take_apart(edge, leftovers):
                run_passes(edge, edge_passes(config.skip_passes))
        if config._check_ir_validity:
            verify(edge, allow=_exceptions(config))
    return manager


def _to_edge(
    programs: Mapping[str, ExportedProgram],
    constant_methods: Mapping[str, Any] | None,
    config: EdgeCompileConfig,
    keep: Mapping[str, Kept],
) -> EdgeProgramManager:
    graphs: dict[str, EdgeGraph] = {}
    allowances: dict[str, set[str] | None] = {}
    with quiet_collector():
        for name, program in programs.items():
            whole: Kept = {**keep.get(name, {}), **dict.fromkeys(config.preserve_ops)}
            allowed = None
            if config._check_ir_validity:
                allowed = _exceptions(config) | {str(operator) for operator in whole}
            with stage("decompose"):
                edge = decompose(program, name, keep=whole, allow_unsupported=allowed)
            graphs[name], allowances[name] = edge, allowed
        written = {name: mutated_targets(edge) for name, edge in graphs.items()}
        for name, edge in graphs.items():
            others = (targets for other, targets in written.items() if other != name)
            edge.foreign_state = frozenset().union(*others)
            with stage("edge passes"):
                run_passes(edge, edge_passes(config.skip_passes))
                allowed = allowances[name]
                if allowed is not None:
                    verify(edge, allow=allowed)
    return EdgeProgramManager(graphs, constant_methods, config)


def _exceptions(config: EdgeCompileConfig) -> set[str]:
    listed = (*config._core_aten_ops_exception_list, *config.preserve_ops)
    return {str(operator) for operator in listed}


def _named(programs: Programs) -> Mapping[str, ExportedProgram]:
    if isinstance(programs, ExportedProgram):
        return {"forward": programs}
    if isinstance(programs, Mapping) and all(
        isinstance(program, ExportedProgram) for program in programs.values()
    ):
        if not programs:
            raise InvalidArgumentError("to_edge: no program was given; give one by method name")
        for name in programs:
            if not isinstance(name, str) or not name:
                raise InvalidArgumentError(
                    f"to_edge: a method's name is a string that is not empty, got {name!r}"
                )
        return dict(programs)
    raise InvalidArgumentError(
        "to_edge: expected a torch.export.ExportedProgram or a dict of them by method name, got "
        f"{type(programs).__name__}; call torch.export.export(model, inputs) first"
    )


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


def _by_method(given: Any, methods: Iterable[str]) -> dict[str, Any]:
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


def _sequence(given: Any) -> list[Any]:
    if given is None:
        return []
    return list(given) if isinstance(given, Sequence) else [given]
