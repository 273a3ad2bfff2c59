"""`to_backend`: hand a program, or parts of it, to backends."""

from collections.abc import Sequence
from typing import overload

from torch.export import ExportedProgram

from etlab.errors import InvalidArgumentError
from etlab.exir.exported import to_exported_program
from etlab.exir.from_exported import from_exported_program
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.delegate import LoweredModule as LoweredBackendModule
from etlab.exir.partition.lower import lower_whole, partition_and_lower
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner

__all__ = ["LoweredBackendModule", "to_backend"]


@overload
def to_backend(
    who: str, edge_program: ExportedProgram, compile_specs: Sequence[CompileSpec] = ()
) -> LoweredBackendModule: ...


@overload
def to_backend(who: ExportedProgram, edge_program: Partitioner) -> ExportedProgram: ...


def to_backend(
    who: str | ExportedProgram,
    edge_program: ExportedProgram | Partitioner,
    compile_specs: Sequence[CompileSpec] = (),
) -> LoweredBackendModule | ExportedProgram:
    """Lower a program whole, or what a partitioner takes of it.

        to_backend("MyBackend", edge_program, [CompileSpec("level", b"2")]) -> LoweredBackendModule
        to_backend(edge_program, MyPartitioner()) -> ExportedProgram

    Args:
        who: the backend's id; or the program, before a partitioner.
        edge_program: the program, for example `to_edge(...).exported_program()`; or a partitioner.
        compile_specs: the backend's options.

    Raises:
        InvalidArgumentError: the arguments are none of these two.
        LoweringError: the program keeps state, and so cannot be one delegate.
    """
    if isinstance(who, str) and isinstance(edge_program, ExportedProgram):
        spec = DelegationSpec(who, list(compile_specs))
        return lower_whole(from_exported_program(edge_program), spec)
    if isinstance(who, ExportedProgram) and isinstance(edge_program, Partitioner):
        edge = from_exported_program(who)
        return to_exported_program(partition_and_lower(edge, edge_program))
    raise InvalidArgumentError(
        "to_backend: expected (backend id, exported program, compile specs) or (exported program,"
        f" partitioner), got ({type(who).__name__}, {type(edge_program).__name__})"
    )
