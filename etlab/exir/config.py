"""Options of the way from an exported program to an edge program."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from torch._ops import OpOverload


@dataclass(slots=True)
class EdgeCompileConfig:
    """How strict and how far `to_edge` goes.

    Attributes:
        _check_ir_validity: verify the edge graph; False also lets operators through that nothing
            serves.
        _skip_dim_order: accepted for compatibility; the dim-order operators are chosen when the
            program is emitted.
        _core_aten_ops_exception_list: operators that may stay although nothing serves them.
        preserve_ops: operators that are not taken apart.
        skip_passes: names of edge passes to leave out ("FoldBatchNorm"); an option of etlab's own.
            What each of them did stands in `EdgeProgramManager.pass_records`.
    """

    _check_ir_validity: bool = True
    _skip_dim_order: bool = False
    _core_aten_ops_exception_list: list[OpOverload] = field(default_factory=list)
    preserve_ops: list[OpOverload] = field(default_factory=list)
    skip_passes: Sequence[str] = ()
