"""The node that calls a delegate, and what it calls."""

from dataclasses import dataclass, field
from typing import Any

from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.backend import ValueOrigin
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.estimate import Estimate


@dataclass(frozen=True, slots=True)
class LoweredModule:
    """A subgraph in a backend's hands.

    Attributes:
        backend_id: who runs it.
        processed_bytes: what the backend made of it; stored in the program.
        compile_specs: the backend's options; stored in the program.
        original: the subgraph, as it was handed over.
        named_data: bytes by key that the program stores beside the delegates, shared by key.
        external_tags: key to the name of a file, for bytes that are stored outside of the program.
        debug_handle_map: the backend's own operator ids to debug handles of the model.
        meta: what else the backend said; for reports.
        takes_any_layout: its inputs need no contiguous copies.
        partial_nodes: ids of `debug_handle_map` whose nodes write no operator's result.
        estimate: what the backend's compiler expects a device to need, where it tells.
        value_origins: the nodes of `original` whose results the backend's values hold, by value.
    """

    backend_id: str
    processed_bytes: bytes
    compile_specs: list[CompileSpec]
    original: EdgeGraph
    named_data: dict[str, bytes] = field(default_factory=dict)
    debug_handle_map: dict[Any, Any] = field(default_factory=dict)
    meta: Any = None
    takes_any_layout: bool = False
    external_tags: dict[str, str] = field(default_factory=dict)
    value_origins: dict[int, tuple[ValueOrigin, ...]] = field(default_factory=dict)
    partial_nodes: frozenset[str] = frozenset()
    estimate: Estimate | None = None

    def __call__(self, *inputs: Any) -> tuple[Any, ...]:
        """Compute the subgraph with torch's operators, not with the backend."""
        from etlab.exir.graph import run_edge_graph

        return tuple(run_edge_graph(self.original, inputs)[0])

    @property
    def original_module(self) -> Any:
        """The subgraph as an `ExportedProgram`."""
        from etlab.exir.exported import to_exported_program

        return to_exported_program(self.original)

    def buffer(self) -> bytes:
        """A program file that does nothing but call this delegate."""
        from etlab.exir.executorch_program import lower_to_executorch
        from etlab.exir.partition.lower import calling_graph

        return lower_to_executorch({"forward": calling_graph(self)}).buffer


class _CallDelegate:
    """`executorch_call_delegate(lowered_module, *inputs)`: the target of delegate nodes."""

    __name__ = "executorch_call_delegate"
    __qualname__ = __name__

    def __call__(self, lowered_module: LoweredModule, *inputs: Any) -> tuple[Any, ...]:
        return lowered_module(*inputs)

    def __repr__(self) -> str:
        return "executorch_call_delegate"

    def __deepcopy__(self, memo: Any) -> "_CallDelegate":
        return self

    def __reduce__(self) -> str:
        return "executorch_call_delegate"


executorch_call_delegate = _CallDelegate()
