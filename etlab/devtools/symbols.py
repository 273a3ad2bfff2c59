"""From instructions and delegates' nodes to the operators, modules and source lines of a model."""

import re
from collections.abc import Sequence
from typing import Any

from etlab.devtools.events import DELEGATE_CALL, Event, EventBlock
from etlab.exir.record.etrecord import ETRecord
from etlab.exir.record.graph_json import RecordNode

_FRAMEWORK = ("Method::init", "Program::load_method", "Method::execute", "Method::step")
_REPEATED = re.compile(r" \(\d+\)$")


def attach_nodes(blocks: Sequence[EventBlock], record: ETRecord, method: str, graph: str) -> None:
    """Give events their debug handles and what the nodes of these are.

    Args:
        blocks: of runs of `method`; edited.
        record: of the program.
        method: which one ran.
        graph: of the record, with the nodes.

    Raises:
        NotFoundError: the record has no such graph.
        InvalidProgramError: the record is damaged.
    """
    handles = (record.debug_handle_map or {}).get(method, {})
    delegates = (record.delegate_map or {}).get(method, {})
    counts = (record.instruction_id_to_num_outs_map or {}).get(method, {})
    nodes: dict[int, list[RecordNode]] = {}
    for node in record.graph(graph, method).nodes:
        if node.debug_handle:
            nodes.setdefault(node.debug_handle, []).append(node)
    for block in blocks:
        for event in block.events:
            if event.instruction_id is None or event.name in _FRAMEWORK:
                continue
            key = str(event.instruction_id)
            event.num_outputs = int(counts.get(key, 1))
            delegate = delegates.get(key) or {}
            if event.is_delegated_op:
                names = {
                    **(delegate.get("partial_nodes") or {}),
                    **(delegate.get("delegate_map") or {}),
                }
                event.debug_handles = _as_handles(_of_node(names, event))
            else:
                event.debug_handles = _as_handles(handles.get(key))
            if delegate and (event.is_delegated_op or event.name == DELEGATE_CALL):
                event.delegate_backend_name = str(delegate.get("name", ""))
            _describe(event, nodes)


def attach_references(blocks: Sequence[EventBlock], record: ETRecord, method: str) -> None:
    """Give blocks that ran a test case its expected outputs, where the record has them."""
    cases = (record.reference_outputs or {}).get(method, [])
    for block in blocks:
        index = block.bundled_input_index
        if index is not None and index < len(cases):
            block.reference_output = list(cases[index])


def _of_node(names: dict[str, Any], event: Event) -> Any:
    """What a delegate's map has for a node; a repeated one counts as the first of its name."""
    name = str(event.delegate_debug_identifier)
    return names.get(name, names.get(_REPEATED.sub("", name)))


def _as_handles(found: Any) -> tuple[int, ...]:
    if found is None:
        return ()
    return tuple(map(int, found)) if isinstance(found, list | tuple) else (int(found),)


def _describe(event: Event, nodes: dict[int, list[RecordNode]]) -> None:
    for handle in event.debug_handles:
        for node in nodes.get(handle, ()):
            event.op_types.append(node.operator)
            event.stack_traces[node.name] = node.stack_trace
            event.module_hierarchy[node.name] = {
                key: list(value) for key, value in node.modules.items()
            }
