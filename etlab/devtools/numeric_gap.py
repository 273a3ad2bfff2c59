"""What the runtime computed beside what the recorded graph computes, operator by operator."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import torch
from torch import fx

from etlab.devtools.distances import mean_square, on_numbers, signal_to_noise, sum_of_absolutes
from etlab.devtools.events import DELEGATE_CALL, OPERATOR_CALL, Event
from etlab.errors import InvalidArgumentError
from etlab.exir.record.etrecord import EDGE, EXPORTED, ETRecord
from etlab.numerics.metrics import all_metrics

if TYPE_CHECKING:
    import pandas

    from etlab.devtools.inspector import Inspector


class NumericalComparatorBase(ABC):
    """A distance of the user's."""

    def __init__(self, inspector: "Inspector | None" = None) -> None:
        """`inspector` is set when the Inspector uses the comparator."""
        self.inspector = inspector

    @abstractmethod
    def element_compare(self, a: Any, b: Any) -> float:
        """The distance of one output of the graph, `a`, and of the runtime, `b`."""


@dataclass(slots=True)
class _Runtime:
    """What one instruction, or one node of a delegate, gave."""

    handles: tuple[int, ...]
    names: list[str]
    values: list[Any]
    is_delegate: bool


@dataclass(slots=True)
class _Reference:
    """What the graph computes: by handle the last value, and what leaves a set of handles."""

    values: dict[int, Any] = field(default_factory=dict)
    names: dict[int, list[str]] = field(default_factory=dict)
    traces: dict[str, str | None] = field(default_factory=dict)
    order: list[tuple[int, Any, set[int]]] = field(default_factory=list)  # handle, value, users


def numeric_gap(
    inspector: "Inspector", distance: "str | NumericalComparatorBase", graph: str | None
) -> "pandas.DataFrame":
    """The table; takes and raises what `Inspector.calculate_numeric_gap` does."""
    import pandas

    compare = _distance(distance, inspector)
    record = inspector.etrecord
    if record is None or record.representative_inputs is None:
        raise InvalidArgumentError(
            "calculate_numeric_gap: an ETRecord with representative inputs is needed; call"
            " etrecord.update_representative_inputs([...]) and give it to the Inspector"
        )
    events = [event for block in inspector.event_blocks for event in block.events]
    measured = _measured(events)
    if not measured:
        raise InvalidArgumentError(
            "calculate_numeric_gap: the dump has no values of operators that the ETRecord knows;"
            " run with load_program(..., enable_etdump=True, debug_buffer_size=1) and give the"
            " Inspector debug_buffer_path, or trace with results=True"
        )
    reference = _reference(record, graph or EDGE, inspector.method_name)
    rows = []
    for one in measured:
        for handles, wanted, actual in _pairs(one, reference):
            wanted_values = list(wanted) if isinstance(wanted, tuple | list) else [wanted]
            operators = [name for handle in handles for name in reference.names.get(handle, ())]
            rows.append(
                {
                    "aot_debug_handle": handles,
                    "aot_ops": operators,
                    "aot_intermediate_output": wanted,
                    "runtime_ops": one.names,
                    "runtime_debug_handle": one.handles,
                    "runtime_intermediate_output": actual if len(actual) > 1 else actual[0],
                    "gap": [compare(a, b) for a, b in zip(wanted_values, actual, strict=False)],
                    "stacktraces": {name: reference.traces.get(name) for name in operators},
                }
            )
    return pandas.DataFrame(rows)


def _distance(
    distance: "str | NumericalComparatorBase", inspector: "Inspector"
) -> Callable[[Any, Any], float]:
    if isinstance(distance, NumericalComparatorBase):
        if distance.inspector is None:
            distance.inspector = inspector
        return distance.element_compare
    plain = {"MSE": mean_square, "L1": sum_of_absolutes, "SNR": signal_to_noise}
    name = str(distance).strip()
    if name.upper() in plain:
        return lambda a, b: on_numbers(plain[name.upper()], a, b)
    metrics = all_metrics()
    if name in metrics:
        return lambda a, b: _on_tensors(metrics[name].compute, a, b)
    raise InvalidArgumentError(
        f"calculate_numeric_gap: no distance '{distance}'; choose from {', '.join(plain)},"
        f" {', '.join(metrics)}, or give a NumericalComparatorBase"
    )


def _measured(events: Sequence[Event]) -> list[_Runtime]:
    """What the runtime gave, by the nodes it stands for; the last instruction of a node counts."""
    inside = {e.instruction_id for e in events if e.is_delegated_op and e.debug_data}
    found: dict[tuple[int, ...], _Runtime] = {}
    for event in events:
        if not event.debug_data or not event.op_types or event.name == OPERATOR_CALL:
            continue
        is_delegate = event.name == DELEGATE_CALL
        if is_delegate and event.instruction_id in inside:
            continue  # its nodes say more
        values = event.debug_data[-event.num_outputs :] if is_delegate else event.debug_data
        before = found.pop(event.debug_handles, None)
        names = [*(before.names if before else ()), event.name]
        found[event.debug_handles] = _Runtime(event.debug_handles, names, values, is_delegate)
    return list(found.values())


class _Recorder(fx.Interpreter):
    """Runs a graph and keeps what its nodes gave, by debug handle."""

    def __init__(self, module: fx.GraphModule, handles: dict[str, int]) -> None:
        super().__init__(module, garbage_collect_values=False)
        self.handles = handles
        self.found = _Reference()

    def run_node(self, n: fx.Node) -> Any:
        value = super().run_node(n)
        handle = self.handles.get(n.name, 0)
        if n.op != "call_function" or not handle:
            return value
        found = self.found
        kept = _copied(value)
        found.values[handle] = kept
        found.names.setdefault(handle, []).append(n.name)
        found.traces[n.name] = n.meta.get("stack_trace")
        users = {self._handle_of_user(user) for user in n.users}
        found.order.append((handle, kept, users))
        return value

    def _handle_of_user(self, node: fx.Node) -> int:
        """The handle of a user; what only picks a result has its own users'."""
        handle = self.handles.get(node.name, 0)
        is_pick = node.op == "call_function" and not handle and len(node.users) > 0
        return self._handle_of_user(next(iter(node.users))) if is_pick else handle


def _reference(record: ETRecord, graph: str, method: str) -> _Reference:
    recorded = record.graph(graph, method)
    module = recorded.program.module()
    assert isinstance(module, fx.GraphModule)
    if graph == EXPORTED:
        # Its nodes have no handles of their own: those of the edge nodes that came from them.
        nodes = record.graph(EDGE, method).nodes
        handles = {node.origin: node.debug_handle for node in nodes if node.origin}
    else:
        handles = {node.name: node.debug_handle for node in recorded.nodes}
    recorder = _Recorder(module, handles)
    with torch.no_grad():
        recorder.run(*record.representative_inputs or (), enable_io_processing=False)
    return recorder.found


def _pairs(one: _Runtime, reference: _Reference) -> list[tuple[tuple[int, ...], Any, list[Any]]]:
    """(handles, what the graph gives, what the runtime gave) for each value that has both."""
    known = [handle for handle in one.handles if handle in reference.values]
    if not known:
        return []
    if not one.is_delegate:
        last = max(known, key=lambda handle: _place(reference, handle))
        wanted = reference.values[last]
        if _is_integer(wanted) and not all(map(_is_integer, one.values)):
            return []  # a delegate tells the numbers that such integers stand for
        return [((last,), wanted, one.values)]
    inside = set(one.handles)
    leaving = [
        (handle, value)
        for handle, value, users in reference.order
        if handle in inside and not users <= inside
    ]
    flat = [
        (handle, item)
        for handle, value in leaving
        for item in (value if isinstance(value, tuple | list) else (value,))
    ]
    pairs: list[tuple[tuple[int, ...], Any, list[Any]]] = []
    for actual in one.values:
        # In order, as the outputs stand; what has another shape is not returned.
        for place, (handle, wanted) in enumerate(flat):
            if getattr(wanted, "shape", None) == getattr(actual, "shape", None):
                pairs.append(((handle,), wanted, [actual]))
                del flat[: place + 1]
                break
    return pairs


def _is_integer(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and not value.is_floating_point()


def _place(reference: _Reference, handle: int) -> int:
    return max(place for place, (one, _, _) in enumerate(reference.order) if one == handle)


def _copied(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.detach().clone()
    return type(value)(map(_copied, value)) if isinstance(value, tuple | list) else value


def _on_tensors(compute: Callable[[Any, Any], float | None], a: Any, b: Any) -> float:
    """A metric's value; NaN where it says nothing, or the shapes differ."""
    wanted, actual = torch.as_tensor(a).detach(), torch.as_tensor(b).detach()
    if wanted.shape != actual.shape:
        return math.nan
    value = compute([actual], [wanted])
    return math.nan if value is None else float(value)
