"""What a backend's compiler expects a device to need for a delegate: cycles, bytes, places.

Nothing of it was measured. Compilers of devices that are not here tell it, and it is kept beside
the program, where no device reads it.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.exir.partition.host_only import ESTIMATE, host_key


@dataclass(frozen=True, slots=True)
class EstimatedOperator:
    """What the device runs as one operator.

    Attributes:
        name: of its result, as the compiler calls it.
        node: the node of the subgraph that the result is of; empty where it is of none.
        kind: what the device calls it.
        unit: which part of the device runs it.
        cycles: of the device's clock.
        macs: multiplications of its convolutions and products.
        utilization: share of the multiplications that the unit could do in these cycles.
        staging: bytes of fast memory that are taken while it runs.
        access: cycles that each memory is busy for it, by the memory's name.
        step: when it runs, in the units of `EstimatedTensor.first`.
    """

    name: str
    node: str
    kind: str
    unit: str
    cycles: int
    macs: int
    utilization: float
    staging: int
    access: Mapping[str, int]
    step: int


@dataclass(frozen=True, slots=True)
class EstimatedMemory:
    """What a delegate makes of one of the device's memories.

    Attributes:
        name: of the memory.
        used: bytes of it that are taken at most.
        bytes_read: in one run.
        bytes_written: in one run.
        cycles: that it is busy in one run.
        bandwidth: bytes a second that it gives at best.
    """

    name: str
    used: int
    bytes_read: int
    bytes_written: int
    cycles: int
    bandwidth: float


@dataclass(frozen=True, slots=True)
class EstimatedTensor:
    """Where a value lies in the device's memory, and when.

    Attributes:
        name: as the compiler calls it.
        memory: that it lies in.
        usage: what it is for.
        offset: of its first byte in the delegate's part of the memory.
        nbytes: that it takes.
        first: the first step that needs it.
        last: the last step that needs it.
    """

    name: str
    memory: str
    usage: str
    offset: int
    nbytes: int
    first: int
    last: int


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a compiler expects of a device that runs a delegate.

    Attributes:
        source: who says so.
        device: that it speaks of.
        conditions: what it assumes, by name.
        clock: cycles a second.
        cycles: of one run; operators overlap, so that theirs may add up to more.
        macs: multiplications of one run.
        weights: bytes of the weights before the compiler packed them.
        packed_weights: bytes of them as they are stored.
        operators: in the order of execution.
        memories: those that are used.
        tensors: what lies in them.
    """

    source: str
    device: str
    conditions: Mapping[str, str]
    clock: float
    cycles: int
    macs: int
    weights: int
    packed_weights: int
    operators: tuple[EstimatedOperator, ...] = ()
    memories: tuple[EstimatedMemory, ...] = ()
    tensors: tuple[EstimatedTensor, ...] = ()

    def __post_init__(self) -> None:
        """Refuse a clock that stands still."""
        if not self.clock > 0:
            raise InvalidArgumentError(f"Estimate: expected a clock above 0 Hz, got {self.clock}")

    @property
    def seconds(self) -> float:
        """Of one run."""
        return self.cycles / self.clock

    def memory(self, name: str) -> int:
        """Bytes of a memory that are taken at most; 0 of one that is not used."""
        return sum(memory.used for memory in self.memories if memory.name == name)


def estimate_key(processed: bytes) -> str:
    """The name under which the estimate of a delegate is kept."""
    return host_key(ESTIMATE, processed)


def write_estimate(estimate: Estimate) -> bytes:
    """An estimate as bytes."""
    return json.dumps(asdict(estimate), separators=(",", ":")).encode()


def read_estimate(data: bytes | memoryview) -> Estimate:
    """An estimate from its bytes.

    Raises:
        InvalidProgramError: they are damaged.
    """
    try:
        content = json.loads(bytes(data))
        for name, kind in _LISTS.items():
            content[name] = tuple(_made(kind, item) for item in content[name])
        estimate: Estimate = _made(Estimate, content)
    except (ValueError, TypeError, KeyError) as error:
        raise InvalidProgramError(
            f"a stored estimate is damaged ({error}): lower the model again"
        ) from None
    return estimate


_LISTS: dict[str, Any] = {
    "operators": EstimatedOperator,
    "memories": EstimatedMemory,
    "tensors": EstimatedTensor,
}
_KINDS: dict[Any, Any] = {str: str, int: int, float: (int, float)}


def _made(kind: Any, content: dict[str, Any]) -> Any:
    """An object of a dataclass whose numbers and texts are such."""
    made = kind(**content)
    for field in fields(kind):
        value = getattr(made, field.name)
        expected = _KINDS.get(field.type, (dict, tuple))
        if not isinstance(value, expected) or isinstance(value, bool):
            raise TypeError(f"{field.name} is {value!r}")
    return made
