"""The graph of a program: one node an instruction, as the file says, without the compiler's help.

With the names of the nodes that the instructions came from, modules, sources and origins are those
of the compiler's graph.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.scalar_type import ITEM_SIZES, ScalarType
from etlab.exir.emit.tensor_lists import open_lists
from etlab.exir.provenance import short_operator
from etlab.inspect.graph import GraphNode
from etlab.inspect.graph_tree import RawGraph, Scope


def program_graph(
    plan: schema.ExecutionPlan,
    *,
    names: Sequence[str] = (),
    known: RawGraph | None = None,
) -> RawGraph:
    """Read a method of a program.

    Args:
        plan: the method.
        names: node of the compiler's graph for every instruction, empty where there is none.
        known: that graph.
    """
    reader = _Reader(plan)
    for index in plan.inputs or ():
        reader.add("input", f"input_{len(reader.nodes)}", "", index, reads=[], writes=[index])
    instructions = [one for chain in plan.chains or () for one in chain.instructions or ()]
    for place, instruction in enumerate(instructions):
        reader.instruction(place, instruction.instr_args)
    results = open_lists(plan.outputs or (), reader.values)
    reader.add("output", "output", "", -1, reads=results, writes=[])
    scopes: list[Scope] = [()] * len(reader.nodes)
    if known is not None:
        _adopt(reader.nodes, scopes, names, known, first=len(plan.inputs or ()))
    return RawGraph(reader.nodes, scopes, reader.edges, root_type=known.root_type if known else "")


class _Reader:
    """Follows values from instruction to instruction."""

    def __init__(self, plan: schema.ExecutionPlan) -> None:
        self._plan = plan
        self.values = [entry.val for entry in plan.values or ()]
        self._writer: dict[int, int] = {}
        self.nodes: list[GraphNode] = []
        self.edges: list[tuple[int, int]] = []

    def add(
        self,
        kind: str,
        name: str,
        operator: str,
        shown: int,
        *,
        reads: Sequence[int],
        writes: Sequence[int],
        backend: str = "",
    ) -> None:
        """One more node; `shown` is the value whose dtype and shape it has."""
        place = len(self.nodes)
        tensor = self.values[shown] if 0 <= shown < len(self.values) else None
        dtype, shape, nbytes = _tensor_facts(tensor)
        self.nodes.append(
            GraphNode(place, name, kind, operator, "", "", dtype, shape, nbytes, backend)
        )
        sources = {self._writer[index] for index in reads if index in self._writer}
        self.edges += [(source, place) for source in sorted(sources)]
        self._writer.update(dict.fromkeys(writes, place))

    def instruction(self, place: int, call: schema.InstructionArguments | None) -> None:
        """One more instruction."""
        name = f"step_{place}"
        if isinstance(call, schema.KernelCall):
            arguments = call.args or ()
            writes = open_lists(arguments[-1:], self.values)
            reads = open_lists(arguments[: -1 - len(writes)], self.values)
            operator = short_operator(operator_name(self._plan, call.op_index))
            shown = writes[0] if writes else -1
            self.add("call", name, operator, shown, reads=reads, writes=writes)
        elif isinstance(call, schema.DelegateCall):
            values = open_lists(call.args or (), self.values)
            reads = [index for index in values if index in self._writer]
            writes = [index for index in values if index not in self._writer]
            delegates = self._plan.delegates or ()
            is_known = 0 <= call.delegate_index < len(delegates)
            backend = str(delegates[call.delegate_index].id or "") if is_known else "unknown"
            shown = writes[0] if writes else -1
            self.add(
                "call", name, "call_delegate", shown, reads=reads, writes=writes, backend=backend
            )
        elif isinstance(call, schema.MoveCall):
            source, target = call.move_from, call.move_to
            self.add("call", name, "move", target, reads=[source], writes=[target])
        elif isinstance(call, schema.JumpFalseCall):
            self.add("call", name, "jump_false", -1, reads=[call.cond_value_index], writes=[])
        else:
            freed = call.value_index if isinstance(call, schema.FreeCall) else -1
            self.add("call", name, "free", -1, reads=[freed], writes=[])


def _tensor_facts(value: object) -> tuple[str, tuple[int | str, ...], int | None]:
    if not isinstance(value, schema.Tensor):
        return "", (), None
    sizes = tuple(value.sizes or ())
    nbytes = ITEM_SIZES.get(value.scalar_type, 0) * math.prod(sizes)
    return _DTYPES.get(value.scalar_type, value.scalar_type.name.lower()), sizes, nbytes


_DTYPES = {
    ScalarType.BYTE: "uint8",
    ScalarType.CHAR: "int8",
    ScalarType.SHORT: "int16",
    ScalarType.INT: "int32",
    ScalarType.LONG: "int64",
    ScalarType.HALF: "float16",
    ScalarType.FLOAT: "float32",
    ScalarType.DOUBLE: "float64",
}


def _adopt(
    nodes: list[GraphNode],
    scopes: list[Scope],
    names: Sequence[str],
    known: RawGraph,
    *,
    first: int,
) -> None:
    """Give instructions the name, module, source and origins of the nodes they came from."""
    places: Mapping[str, int] = {node.name: node.id for node in known.nodes}
    taken: set[str] = set()
    for place, name in enumerate(names, first):
        if name not in places or place >= len(nodes):
            continue
        source = known.nodes[places[name]]
        scopes[place] = known.scopes[source.id]
        nodes[place] = replace(
            nodes[place],
            name=nodes[place].name if name in taken else name,
            module=source.module,
            source=source.source,
            file=source.file,
            origins=source.origins,
        )
        taken.add(name)
