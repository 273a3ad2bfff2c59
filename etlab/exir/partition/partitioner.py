"""What a partitioner is: it says which nodes go to which backend."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar

from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.passes.base import Pass


@dataclass(frozen=True, slots=True)
class DelegationSpec:
    """Who takes the nodes of one tag.

    Attributes:
        backend_id: name of the backend, in the registry and in the program.
        compile_specs: its options.
    """

    backend_id: str
    compile_specs: list[CompileSpec] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class PartitionResult:
    """What a partitioner decided.

    Attributes:
        tagged_exported_program: the program it was given, with `meta["delegation_tag"]` on the
            nodes it wants.
        partition_tags: what each tag means.
        reasons: why a node was left, in words, by node name: `why: what would help`.
    """

    tagged_exported_program: ExportedProgram
    partition_tags: Mapping[str, DelegationSpec]
    reasons: Mapping[str, str] = field(default_factory=dict)


class Partitioner:
    """Decides what a backend gets. Subclasses implement `partition`.

    Attributes:
        choice: the name to choose the class by; None: that of its backend, for the first such.
        needs: the module that lowering or running needs, as it is imported; None: nothing.
        extra: etlab's extra with that module; None: it has the module's name.
    """

    choice: ClassVar[str | None] = None
    needs: ClassVar[str | None] = None
    extra: ClassVar[str | None] = None

    def __call__(self, exported_program: ExportedProgram) -> PartitionResult:
        """The same as `partition`."""
        return self.partition(exported_program)

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag the nodes that the backend takes.

        Args:
            exported_program: a view of the edge graph: `graph`, `graph_module`,
                `graph_signature`, `state_dict`, `constants` and so on. Only `meta` may be changed.
        """
        raise NotImplementedError

    def edge_passes(self) -> Sequence[Pass]:
        """Passes that bring a graph into a form of which more can be delegated; run before."""
        return ()

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[OpOverload], Callable[[fx.Node], bool] | None]:
        """Operators to leave whole, and a filter that says at which nodes (None: all)."""
        return [], None
