"""Measures a program and makes a `ProfileReport` of it."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from torch import fx

from etlab.errors import InvalidArgumentError
from etlab.exir import stages
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import is_getitem
from etlab.exir.partition.delegate import LoweredModule
from etlab.exir.provenance import module_of, operator_of, short_operator, source_of
from etlab.inspect.costs import bytes_of_call, flops_of_call
from etlab.inspect.profile import ProfileReport
from etlab.inspect.profile_rows import ProfileRow, Samples
from etlab.numerics.stopping import interruptible
from etlab.runtime import (
    EventTrace,
    Method,
    NodeEvent,
    Program,
    Roofline,
    measure_roofline,
    set_thread_count,
    thread_count,
)
from etlab.runtime.trace import RunTrace


@dataclass(frozen=True, slots=True)
class Origins:
    """Where a method's instructions came from.

    Attributes:
        graph: that the method was made from.
        nodes: of every instruction the node's name, empty for none.
    """

    graph: EdgeGraph
    nodes: Sequence[str]


def profile(
    program: Program,
    method_name: str,
    inputs: Sequence[Any],
    *,
    model: str,
    runs: int,
    warmup: int,
    threads: int | None,
    origins: Origins | None = None,
) -> ProfileReport:
    """Measure a method.

    Calls with and without tracing take turns, so that both see the same machine.

    Args:
        program: with its data.
        method_name: which method.
        inputs: flat, as `Method.execute` takes them.
        model: name for titles.
        runs: how often to run, with tracing and without.
        warmup: how often to run before.
        threads: of the kernels; None leaves the process's setting.
        origins: gives rows their modules, lines and costs.

    Raises:
        InvalidArgumentError: a count is out of range.
        EtlabError: the program refuses or fails.
    """
    if not (isinstance(runs, int) and isinstance(warmup, int)) or runs < 1 or warmup < 0:
        raise InvalidArgumentError(
            f"profile: expected runs of 1 or more and warmup of 0 or more, got {runs!r}"
            f" and {warmup!r}"
        )
    before = thread_count()
    try:
        if threads is not None:
            set_thread_count(threads)
        method = program.new_method(method_name)
        with stages.stage("profile"), interruptible(method.interrupt):
            warm_up, plain, traced, trace = _measure(method, inputs, runs, warmup)
        used = thread_count()
        roofline = measure_roofline(used)
    finally:
        set_thread_count(before)
    return ProfileReport(
        model,
        method_name,
        used,
        tuple(_rows(program, method, trace, origins, roofline)),
        Samples(tuple(plain)),
        Samples(tuple(traced)),
        Samples(tuple(warm_up) or (plain[0],)),
        roofline,
        trace,
    )


def _measure(
    method: Method, inputs: Sequence[Any], runs: int, warmup: int
) -> tuple[list[float], list[float], list[float], EventTrace]:
    warm_up = [_timed(method, inputs) for _ in range(warmup)]
    trace = method.start_trace()
    plain, traced = [], []
    for _ in range(runs):
        method.stop_trace()
        plain.append(_timed(method, inputs))
        method.resume_trace(trace)
        traced.append(_timed(method, inputs))
    method.stop_trace()
    return warm_up, plain, traced, trace


def _timed(method: Method, inputs: Sequence[Any]) -> float:
    begin = time.perf_counter_ns()
    method.execute(inputs)
    return (time.perf_counter_ns() - begin) * 1e-9


@dataclass(slots=True)
class _Collected:
    """What one row is made of while runs are read."""

    instruction: int
    seconds: list[float]
    calls: int = 0
    node: NodeEvent | None = None
    inner: dict[tuple[Any, ...], "_Collected"] = field(default_factory=dict)


def _rows(
    program: Program,
    method: Method,
    trace: EventTrace,
    origins: Origins | None,
    roofline: Roofline,
) -> list[ProfileRow]:
    found = _collect(trace.runs, origins)
    describe = _Describer(program, method, origins, roofline)
    rows = []
    for collected in found.values():
        outer = describe.instruction(collected)
        rows.append(outer)
        rows += describe.inner(collected, outer)
    return rows


def _collect(runs: Sequence[RunTrace], origins: Origins | None) -> dict[Any, _Collected]:
    """Times by node of the graph, or by instruction where there is none; in order of execution."""
    found: dict[Any, _Collected] = {}
    for number, run in enumerate(runs):
        for event in run.events:
            name = origins.nodes[event.instruction] if origins is not None else ""
            row = found.setdefault(
                name or event.instruction, _Collected(event.instruction, [0.0] * len(runs))
            )
            row.seconds[number] += event.duration * 1e-9
            row.calls += 1
            seen: dict[tuple[str, int], int] = {}
            for node in event.nodes:
                count = seen[node.name, node.debug_handle] = (
                    seen.get((node.name, node.debug_handle), 0) + 1
                )
                inner = row.inner.setdefault(
                    (node.name, node.debug_handle, count),
                    _Collected(event.instruction, [0.0] * len(runs), node=node),
                )
                inner.seconds[number] += node.duration * 1e-9
                inner.calls += 1
    return found


class _Describer:
    """Says what rows are: from the graph when there is one, else from the program alone."""

    def __init__(
        self,
        program: Program,
        method: Method,
        origins: Origins | None,
        roofline: Roofline,
    ) -> None:
        self._program = program
        self._method = method
        self._origins = origins
        self._roofline = roofline
        graph = origins.graph.graph.nodes if origins is not None else ()
        self._nodes: Mapping[str, fx.Node] = {node.name: node for node in graph}

    def instruction(self, row: _Collected) -> ProfileRow:
        """A call of an operator or delegate, or another instruction."""
        described = self._method.metadata.instructions[row.instruction]
        is_delegate = described.kind == "delegate"
        node = self._node(row.instruction)
        lowered = self._lowered(node)
        calls = _calls(lowered) if lowered is not None else [node] if node is not None else []
        source, module = self._place(row.instruction, node if lowered is None else None)
        operator = short_operator(described.name) if described.name else described.kind
        if node is not None and lowered is None and described.kind == "kernel":
            operator = operator_of(node)
        return self._row(
            row,
            node.name if node is not None else f"instruction {row.instruction}",
            operator,
            "delegate" if is_delegate else "operator",
            described.name if is_delegate else "",
            "",
            (module, source),
            _total(flops_of_call, calls),
            bytes_of_call(node) if lowered is None and node is not None else None,
        )

    def inner(self, row: _Collected, outer: ProfileRow) -> list[ProfileRow]:
        """The nodes of a delegate."""
        lowered = self._lowered(self._node(row.instruction))
        by_handle: dict[int, list[fx.Node]] = {}
        for node in _calls(lowered) if lowered is not None else ():
            by_handle.setdefault(int(node.meta.get("debug_handle") or 0), []).append(node)
        heaviest: dict[int, _Collected] = {}  # what an operator costs is its slowest node's
        for one in row.inner.values():
            assert one.node is not None
            best = heaviest.setdefault(one.node.debug_handle, one)
            if sum(one.seconds) > sum(best.seconds):
                heaviest[one.node.debug_handle] = one
        rows = []
        for (name, handle, count), one in row.inner.items():
            nodes = by_handle.get(handle, []) if handle else []
            costs = nodes if heaviest[handle] is one else []
            first = nodes[0] if nodes else None
            place = (module_of(first), source_of(first)) if first is not None else ("", "")
            title = f"{name} [{handle}]" if handle else name
            rows.append(
                self._row(
                    one,
                    f"{outer.node}/{title}" + (f" ({count})" if count > 1 else ""),
                    name,
                    "delegate node",
                    outer.backend,
                    outer.node,
                    place,
                    _total(flops_of_call, costs),
                    _total(bytes_of_call, costs),
                )
            )
        return rows

    def _row(
        self,
        row: _Collected,
        node: str,
        operator: str,
        kind: str,
        backend: str,
        part: str,
        place: tuple[str, str],
        flops: int | None,
        nbytes: int | None,
    ) -> ProfileRow:
        calls = max(round(row.calls / len(row.seconds)), 1)
        flops = flops * calls if flops is not None else None
        nbytes = nbytes * calls if nbytes is not None else None
        roof = self._roofline.seconds(flops, nbytes)
        samples = Samples(tuple(row.seconds))
        return ProfileRow(
            node, operator, kind, backend, part, *place, calls, samples, flops, nbytes, roof
        )

    def _node(self, instruction: int) -> fx.Node | None:
        return self._nodes.get(self._origins.nodes[instruction]) if self._origins else None

    def _lowered(self, node: fx.Node | None) -> LoweredModule | None:
        if node is None or self._origins is None or not node.args:
            return None
        first = node.args[0]
        if not isinstance(first, fx.Node) or first.op != "get_attr":
            return None
        part = self._origins.graph.submodules.get(str(first.target))
        return part if isinstance(part, LoweredModule) else None

    def _place(self, instruction: int, node: fx.Node | None) -> tuple[str, str]:
        """(source, module); of a program alone the line that the file holds, if it holds any."""
        if node is not None:
            return source_of(node), module_of(node)
        lines = self._program.instruction_source(self._method.name, instruction)
        return (lines[-1].split(" ")[0] if lines else ""), ""


def _calls(lowered: LoweredModule) -> list[fx.Node]:
    nodes = lowered.original.graph.nodes
    return [node for node in nodes if node.op == "call_function" and not is_getitem(node)]


def _total(cost: Any, nodes: Sequence[fx.Node]) -> int | None:
    """The sum of a cost; None when nothing is known of any node."""
    costs = [cost(node) for node in nodes]
    return None if not costs or None in costs else sum(costs)
