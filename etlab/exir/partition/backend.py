"""What a backend is at compile time."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import torch
from torch.export import ExportedProgram

from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.estimate import Estimate
from etlab.exir.partition.inside import Inside


@dataclass(frozen=True, slots=True)
class ValueOrigin:
    """Whose result a value of a backend holds.

    Attributes:
        node: a node of the subgraph, by name. A quantized value is the result of a quantize node,
            and, taken as numbers, that of the dequantize behind it; nodes whose results were only
            rounded to it stand before these.
        order: dimension `order[i]` of the node's result is dimension i of the value.
        is_copy: whether it is made of another value that holds the same result, in another order.
    """

    node: str
    order: tuple[int, ...]
    is_copy: bool = False

    def arrange(self, value: torch.Tensor) -> torch.Tensor:
        """The value, a view of it, with its dimensions as the node's result has them.

        >>> ValueOrigin("conv", (0, 2, 3, 1)).arrange(torch.empty(1, 4, 5, 3)).shape
        torch.Size([1, 3, 4, 5])
        """
        return value.permute([self.order.index(dim) for dim in range(len(self.order))])


@dataclass(slots=True)
class PreprocessResult:
    """What a backend made of a subgraph.

    Attributes:
        processed_bytes: what its runtime part is created from.
        debug_handle_map: its own operator ids to debug handles of the model; the ids are
            those of `node_event_name` where the executor tells of its nodes.
        data_store_output: bytes by key to store once beside the delegates.
        external_tags: of those bytes that are to be stored outside of the program: the key to the
            name of the file, without a suffix.
        _delegate_info_meta: anything else, for reports.
        takes_any_layout: inputs come as they lie in memory; otherwise as contiguous copies.
        value_origins: whose results the backend's values hold, by the number that its runtime part
            tells of them (`etlab.runtime.NodeResult.value`).
        partial_nodes: ids of `debug_handle_map` whose nodes write no operator's result: half-way
            values, and results in another order.
        estimate: what the compiler expects a device to need, where it tells.
    """

    processed_bytes: bytes = b""
    debug_handle_map: dict[Any, Any] | None = field(default_factory=dict)
    data_store_output: dict[str, bytes] | None = None
    _delegate_info_meta: Any = None
    takes_any_layout: bool = False
    external_tags: dict[str, str] = field(default_factory=dict)
    value_origins: dict[int, tuple[ValueOrigin, ...]] = field(default_factory=dict)
    partial_nodes: frozenset[str] = frozenset()
    estimate: Estimate | None = None


class BackendDetails:
    """A backend's compiler: a subclass implements `preprocess`, its name is the backend's id.

    Attributes:
        differences: in what its integers differ from PT2E's simulation, by the kind of its nodes;
            for reports.
        times: why times that are measured here are not those of what it is for; empty where they
            are.
    """

    differences: ClassVar[Mapping[str, str]] = {}
    times: ClassVar[str] = ""

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Turn a subgraph into the backend's own form.

        Args:
            edge_program: the subgraph; its constants are parameters of its own, the rest of its
                placeholders are the delegate's inputs in order.
            compile_specs: options from the partitioner.
        """
        raise NotImplementedError

    @staticmethod
    def look_inside(processed: bytes) -> Inside | None:
        """What the bytes that `preprocess` made hold; None where a backend does not tell.

        Raises:
            InvalidProgramError: the bytes are damaged or made by another compiler.
        """
        return None

    @staticmethod
    def describe(processed: bytes) -> str:
        """The bytes that `preprocess` made as stable text; empty where a backend does not tell.

        Raises:
            InvalidProgramError: as `look_inside`.
        """
        return ""

    @staticmethod
    def simulate(
        subgraph: EdgeGraph, inputs: Sequence[Any], compile_specs: Sequence[CompileSpec]
    ) -> dict[str, Any] | None:
        """What the backend computes in a subgraph, in PyTorch, with its own arithmetic.

        Args:
            subgraph: as `preprocess` got it.
            inputs: of the delegate, in order.
            compile_specs: as `preprocess` got them.

        Returns:
            The value of every node by name, integers where a node quantizes; None where a backend
            has no arithmetic of its own to tell of.
        """
        return None


def node_event_name(kind: str, debug_handle: int) -> str:
    """What the runtime calls a node of a delegate in an ETDump: a key of `debug_handle_map`.

    A second node of that name gets " (2)" behind it there.

    Args:
        kind: the name that the backend's executor tells for it.
        debug_handle: that the payload holds for it.
    """
    return f"{kind} [{debug_handle}]"
