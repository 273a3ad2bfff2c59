"""The way through the compiler: `to_edge`, `to_edge_transform_and_lower`, `EdgeProgramManager`.

    exported = torch.export.export(model, inputs)
    program = to_edge_transform_and_lower(exported, partitioner=[...]).to_executorch()
    program.save("model.pte")

Export → `decompose` → edge passes → partition → (`to_executorch`) emission passes → `lower`.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError
from etlab.exir.collector import quiet_collector
from etlab.exir.config import EdgeCompileConfig, ExecutorchBackendConfig
from etlab.exir.decompose import decompose, take_apart
from etlab.exir.decompose.operators import EXPANDED_LATER, has_kernel
from etlab.exir.decompose.walk import NodeFilter
from etlab.exir.edge import EdgeGraph
from etlab.exir.edge_program import EdgeProgramManager, Partitioners, Passes, as_list, by_method
from etlab.exir.executorch_program import ExecutorchProgramManager
from etlab.exir.graph import mutated_targets
from etlab.exir.partition.partitioner import Partitioner
from etlab.exir.passes.pipeline import edge_passes, run_passes
from etlab.exir.record.etrecord import ETRecord
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
Kept = dict[OpOverload, NodeFilter | None]


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
    partitioners = {name: as_list(own) for name, own in by_method(partitioner, named).items()}
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
