"""What compilers expect of devices that are not here: nothing of it was measured."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from torch import fx

from etlab import display
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import is_getitem
from etlab.exir.partition.delegate import LoweredModule
from etlab.exir.partition.estimate import Estimate, estimate_key, read_estimate
from etlab.exir.provenance import module_of, source_of
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas

    from etlab.inspect.program_file import ProgramFile


@dataclass(frozen=True, slots=True)
class EstimatedPart:
    """A delegate of which its compiler tells what a device needs for it.

    Attributes:
        part: the delegated subgraph; of a file alone "delegate 0".
        call: the node that calls it; of a file alone the same as `part`.
        backend: who runs it.
        estimate: what its compiler says.
        graph: the subgraph; None of a file alone.
    """

    part: str
    call: str
    backend: str
    estimate: Estimate
    graph: EdgeGraph | None = None


@dataclass(frozen=True, slots=True)
class OperatorEstimate:
    """One operator of a device.

    Attributes:
        part: the delegate it is in.
        name: of its result.
        node: the model's node; empty where it is of none.
        operator: what the device calls it.
        unit: which part of the device runs it.
        cycles: of the device's clock.
        ms: the same in milliseconds.
        share: of the delegate's cycles.
        macs: its multiplications.
        utilization: share of the multiplications that the unit could do meanwhile.
        staging: bytes of fast memory that are taken meanwhile.
        module: path of the node's module.
        source: `file.py:line` of the model.
    """

    part: str
    name: str
    node: str
    operator: str
    unit: str
    cycles: int
    ms: float
    share: float
    macs: int
    utilization: float
    staging: int
    module: str
    source: str


@dataclass(frozen=True, slots=True)
class MemoryEstimate:
    """What a delegate makes of one memory of the device.

    Attributes:
        part: the delegate.
        device: that has the memory.
        memory: its name.
        used: bytes of it that are taken at most.
        bytes_read: in one run.
        bytes_written: in one run.
        busy: share of the run's time that it is busy.
    """

    part: str
    device: str
    memory: str
    used: int
    bytes_read: int
    bytes_written: int
    busy: float


@dataclass(frozen=True, slots=True)
class EstimateReport:
    """What compilers expect of the devices that run a program's delegates.

    Attributes:
        model: its name.
        parts: delegates with an estimate, in the order of their calls.
    """

    model: str
    parts: tuple[EstimatedPart, ...]

    def __bool__(self) -> bool:
        """Whether any compiler told."""
        return bool(self.parts)

    @property
    def seconds(self) -> float:
        """Of one run of all of these delegates; what lies between them is not in it."""
        return sum(part.estimate.seconds for part in self.parts)

    @property
    def sources(self) -> str:
        """Who says so, of which devices."""
        said = (f"{p.estimate.source} for {p.estimate.device}" for p in self.parts)
        return ", ".join(dict.fromkeys(said))

    @property
    def operators(self) -> Table[OperatorEstimate]:
        """The devices' operators in the order of execution."""
        rows = [row for part in self.parts for row in _operators(part)]
        return Table(OperatorEstimate, rows, title=f"{self.model}: operators, as estimated")

    @property
    def memories(self) -> Table[MemoryEstimate]:
        """The devices' memories."""
        rows = [
            MemoryEstimate(
                part.part,
                part.estimate.device,
                one.name,
                one.used,
                one.bytes_read,
                one.bytes_written,
                one.cycles / part.estimate.cycles if part.estimate.cycles else 0.0,
            )
            for part in self.parts
            for one in part.estimate.memories
        ]
        return Table(MemoryEstimate, rows, title=f"{self.model}: memories, as estimated")

    def lines(self) -> list[str]:
        """A sentence for each delegate, with the conditions of its estimate."""
        return [_sentence(part) for part in self.parts]

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row an operator of a device."""
        return self.operators.to_dataframe()

    def __repr__(self) -> str:
        """One line."""
        told = (
            f"{display.milliseconds(self.seconds)}, {self.sources}"
            if self.parts
            else "nobody estimates"
        )
        return f"EstimateReport({self.model}: {told})"

    def __str__(self) -> str:
        """Sentences and tables."""
        if not self.parts:
            return f"{self.model}: no compiler of its delegates estimates what a device needs"
        return "\n\n".join(["\n".join(self.lines()), str(self.memories), str(self.operators)])

    def _repr_html_(self) -> str:
        if not self.parts:
            return display.card(f"Estimates of {self.model}", display.note(str(self)))
        return display.card(
            f"Estimates of {self.model}",
            *(f"<div>{display.escape(line)}</div>" for line in self.lines()),
            self.memories._repr_html_(),
            self.operators._repr_html_(),
            subtitle="not measured",
        )


def estimates_in(graph: EdgeGraph, model: str) -> EstimateReport:
    """The estimates of a partitioned graph's delegates."""
    return EstimateReport(model, tuple(_parts(graph)))


def _parts(graph: EdgeGraph) -> Iterator[EstimatedPart]:
    for node in graph.graph.nodes:
        if node.op != "call_function" or is_getitem(node) or not node.args:
            continue
        first = node.args[0]
        if not isinstance(first, fx.Node) or first.op != "get_attr":
            continue
        name = str(first.target)
        lowered = graph.submodules.get(name)
        if isinstance(lowered, LoweredModule) and lowered.estimate is not None:
            yield EstimatedPart(
                name, node.name, lowered.backend_id, lowered.estimate, lowered.original
            )


def estimates_of_file(file: "ProgramFile", method: str) -> EstimateReport:
    """The estimates that were kept beside a program's delegates.

    Raises:
        InvalidProgramError: they are damaged.
    """
    from etlab.exir.emit.flat_tensor import read_tensor_file
    from etlab.inspect.anatomy import delegate_bytes

    if not file.host_data:
        return EstimateReport(file.name, ())
    host = read_tensor_file(file.host_data)
    kept = {n.key: host.segments[n.segment_index] for n in host.flat_tensor.named_data or ()}
    plans = {plan.name: plan for plan in file.content.program.execution_plan or ()}
    parts = []
    for index, delegate in enumerate(plans[method].delegates or () if method in plans else ()):
        key = estimate_key(delegate_bytes(file.content, delegate))
        if key in kept:
            name = f"delegate {index}"
            parts.append(EstimatedPart(name, name, delegate.id or "", read_estimate(kept[key])))
    return EstimateReport(file.name, tuple(parts))


def _operators(part: EstimatedPart) -> Iterator[OperatorEstimate]:
    estimate = part.estimate
    nodes = {node.name: node for node in part.graph.graph.nodes} if part.graph is not None else {}
    for one in estimate.operators:
        node = nodes.get(one.node)
        yield OperatorEstimate(
            part.part,
            one.name,
            one.node,
            one.kind,
            one.unit,
            one.cycles,
            one.cycles / estimate.clock * 1e3,
            one.cycles / estimate.cycles if estimate.cycles else 0.0,
            one.macs,
            one.utilization,
            one.staging,
            "" if node is None else module_of(node),
            "" if node is None else source_of(node),
        )


def cycles_by_node(part: Any) -> dict[str, int]:
    """Estimated cycles of a lowered module's nodes, by name; empty without an estimate."""
    found: dict[str, int] = {}
    estimate = getattr(part, "estimate", None)
    for one in estimate.operators if estimate is not None else ():
        if one.node:
            found[one.node] = found.get(one.node, 0) + one.cycles
    return found


def memory_words(memories: Sequence[Any]) -> str:
    """`SRAM 1.2 MiB, off-chip flash 4.5 MiB`."""
    return ", ".join(f"{one.name} {display.format_bytes(one.used)}" for one in memories)


def _sentence(part: EstimatedPart) -> str:
    estimate = part.estimate
    conditions = ", ".join(f"{name} {value}" for name, value in estimate.conditions.items())
    return (
        f"{part.part}: {estimate.cycles:,} cycles, {display.milliseconds(estimate.seconds)} at"
        f" {estimate.clock / 1e6:g} MHz on {estimate.device}; {memory_words(estimate.memories)};"
        f" weights {display.format_bytes(estimate.weights)}, packed"
        f" {display.format_bytes(estimate.packed_weights)}. {estimate.source} estimates this"
        f" ({conditions}), nobody measured it"
    )
