"""Options of the way from an exported program to an edge program, and from there to a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch._ops import OpOverload

from etlab.errors import InvalidArgumentError
from etlab.exir.external import ExternalConstants
from etlab.exir.memory.planning import MemoryPlanningPass
from etlab.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass


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


@dataclass(frozen=True, kw_only=True)
class ExecutorchBackendConfig:
    """How a program is made, with ExecuTorch's documented options.

    Attributes:
        passes: passes to run on the edge graphs before anything else.
        memory_planning_pass: how memory is planned: one for all methods, or one by method name;
            None is the default.
            A planner's name is short for `MemoryPlanningPass(memory_planning_algo=name)`.
        emit_stacktrace: store where in the model each instruction came from.
        extract_delegate_segments: store delegates behind the FlatBuffer, not inside.
        segment_alignment: of each segment, in bytes; a power of two.
        constant_tensor_alignment: of each constant; 16 bytes by default.
        delegate_alignment: of each delegate's bytes; 16 by default.
        sym_shape_eval_pass: where upper bounds of dynamic sizes come from:
            `ConstraintBasedSymShapeEvalPass`, for all methods or by name, which is what etlab does
            in any case.
        remove_view_copy: let views share memory instead of copying.
        external_constants: store the constants of the model outside of the program, in the file
            `_default_external_constant.ptd`; or a function from a placeholder node of an edge graph
            to the name of the file that holds it, without `.ptd`, or None for the program. What is
            a constant of the code (lifted tensors) or held by a delegate stays in the program.
        external_mutable_weights: store the weights that the graph returns gradients of so.
        emit_mutable_buffer_names: store the names of state tensors.
        extended_operators: allow operators that only etlab's runtime has kernels for; attention and
            recurrent layers then stay whole.
    """

    passes: list[Any] = field(default_factory=list)
    memory_planning_pass: (
        MemoryPlanningPass | str | Mapping[str, MemoryPlanningPass | str] | None
    ) = MemoryPlanningPass()  # noqa: RUF009 (frozen)
    emit_stacktrace: bool = False
    extract_delegate_segments: bool = True
    segment_alignment: int = 128
    constant_tensor_alignment: int | None = None
    delegate_alignment: int | None = None
    sym_shape_eval_pass: (
        ConstraintBasedSymShapeEvalPass | Mapping[str, ConstraintBasedSymShapeEvalPass] | None
    ) = None
    remove_view_copy: bool = True
    external_constants: ExternalConstants = False
    external_mutable_weights: bool = False
    emit_mutable_buffer_names: bool = False
    extended_operators: bool = False

    def __post_init__(self) -> None:
        """Refuse what is not served."""
        if not isinstance(self.external_constants, bool) and not callable(self.external_constants):
            raise InvalidArgumentError(
                "external_constants must be True, False or a function from a node to a file name,"
                f" not {self.external_constants!r}"
            )
        evaluation = self.sym_shape_eval_pass
        for given in evaluation.values() if isinstance(evaluation, Mapping) else [evaluation]:
            if given is not None and not isinstance(given, ConstraintBasedSymShapeEvalPass):
                raise InvalidArgumentError(
                    "sym_shape_eval_pass: etlab takes upper bounds from the constraints of the"
                    f" export, ConstraintBasedSymShapeEvalPass(), not {type(given).__name__}"
                )
        for name in ("segment_alignment", "constant_tensor_alignment", "delegate_alignment"):
            value = getattr(self, name)
            if value is not None and (value < 1 or value & (value - 1)):
                raise InvalidArgumentError(f"{name} must be a power of two, not {value}")

    def planning_of(self, method: str) -> MemoryPlanningPass:
        """The memory planning of a method."""
        chosen = self.memory_planning_pass
        if isinstance(chosen, Mapping):
            chosen = chosen.get(method, MemoryPlanningPass())
        if isinstance(chosen, str):
            chosen = MemoryPlanningPass(memory_planning_algo=chosen)
        return chosen if chosen is not None else MemoryPlanningPass()
