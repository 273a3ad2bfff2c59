"""The rows of a `DelegationReport`: calls, delegated parts, sums over calls, and borders."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an operator.

    Attributes:
        node: its name in the graph.
        operator: what it calls.
        backend: who runs it; empty for our own kernels.
        part: the delegated subgraph it is in; empty for none.
        module: path of its module.
        source: `file.py:line` of the model.
        line: the text of that line.
        reason: why no backend took it; empty when one did.
        kind: the reason without names of this call, which groups calls.
        help: what would change that; empty when nobody said.
        nbytes: of all tensors that it reads and writes, weights included, at the example's sizes.
        flops: of matrix products, convolutions and attention, at the example's sizes.
        seconds: measured; None without a measurement and inside of a part.
        cycles: of the device's clock, as its compiler estimates; None where nobody does.
    """

    node: str
    operator: str
    backend: str
    part: str
    module: str
    source: str
    line: str
    reason: str
    kind: str
    help: str
    nbytes: int | None
    flops: int | None
    seconds: float | None
    cycles: int | None = None


@dataclass(frozen=True, slots=True)
class DelegatedPart:
    """One subgraph that a backend runs.

    Attributes:
        name: of the part in the graph.
        backend: who runs it.
        operators: operator to number of calls, the commonest first.
        nodes: names of its nodes.
        bytes_in: of the tensors that cross into it; None when a size is symbolic.
        bytes_out: of the tensors that come back.
        payload: bytes that the backend made of it.
        seconds: measured; None without a measurement.
    """

    name: str
    backend: str
    operators: Mapping[str, int]
    nodes: tuple[str, ...]
    bytes_in: int | None
    bytes_out: int | None
    payload: int
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class RejectedNode:
    """One call that our own kernels run; attributes as of `Call`."""

    node: str
    operator: str
    module: str
    source: str
    reason: str
    help: str
    nbytes: int | None
    flops: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class OperatorShare:
    """All calls of one operator.

    Attributes:
        operator: what is called.
        calls: how many.
        delegated: how many of them a backend runs.
        backends: who.
        nbytes: read and written by all of them.
        flops: of all of them.
        own_seconds: measured, of those that our own kernels run. A part is measured as a whole.
    """

    operator: str
    calls: int
    delegated: int
    backends: str
    nbytes: int | None
    flops: int | None
    own_seconds: float | None


@dataclass(frozen=True, slots=True)
class ModuleShare:
    """All calls of one module.

    Attributes:
        module: its path.
        calls: how many.
        stayed: how many of them our own kernels run.
        operators: which those are.
    """

    module: str
    calls: int
    stayed: int
    operators: str


@dataclass(frozen=True, slots=True)
class ReasonGroup:
    """All calls that stayed for one kind of reason.

    Attributes:
        reason: in words, without the names of single calls.
        help: what would change that.
        calls: how many.
        operators: which.
        nbytes: read and written by all of them.
        flops: of all of them.
        seconds: measured, of all of them.
    """

    reason: str
    help: str
    calls: int
    operators: str
    nbytes: int | None
    flops: int | None
    seconds: float | None


@dataclass(frozen=True, slots=True)
class Border:
    """One tensor that goes into a delegate, comes out of one, or both.

    Attributes:
        tensor: name of its node.
        made_by: a part, "own kernels", "input" or "constant".
        used_by: parts, "own kernels" and "output".
        shape: its sizes.
        dtype: of its elements.
        nbytes: at the sizes of the example.
    """

    tensor: str
    made_by: str
    used_by: str
    shape: tuple[int | str, ...]
    dtype: str
    nbytes: int | None
