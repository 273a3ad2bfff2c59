"""Which tensors of a run's stages and of its program are the same one, found by provenance.

The operators of the exported program are what is compared. Each has its node, and where the model
was quantized the nodes of the quantized program that hold its value: itself, the quantization
behind it, the dequantization behind that. Of all of these the compiler says (`from_node`) what
computes them in the program, and a backend says it of the values inside of its delegates.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from etlab.numerics.operators import Operator, operators_of
from etlab.numerics.parts import ProgramParts
from etlab.numerics.places import Place
from etlab.numerics.sites import Site, SiteFinder
from etlab.numerics.subject import Subject


@dataclass(frozen=True, slots=True)
class Alignment:
    """A run and its program, side by side.

    Attributes:
        operators: of the exported program, in order.
        sites: by the node of the program that was lowered.
        fused: nodes without a value of their own, to the node whose value they went into.
        parts: the program taken apart.
        numbers: the node whose value a tensor of the program is, by its place.
        orders: of the tensors inside of delegates, their dimensions as they lie in memory.
        inputs: nodes that are the program's inputs, in order.
        branching: instructions of branches and loops, to the lowered node that they belong to.
        computed: lowered nodes whose value some node of the edge graph computes, with the part.
    """

    operators: tuple[Operator, ...]
    sites: Mapping[str, Site]
    fused: Mapping[str, str]
    parts: ProgramParts
    numbers: Mapping[Place, str]
    orders: Mapping[Place, tuple[int, ...]]
    inputs: tuple[str, ...]
    branching: Mapping[int, str]
    computed: Mapping[str, str]

    def why_not(self, operator: Operator) -> str:
        """Why the program has no value of an operator."""
        if operator.folded_into:
            return f"folded into '{operator.folded_into}'"
        if not operator.chain:
            return "left out by the quantizer"
        for node in operator.chain:
            if node in self.fused:
                return f"computed in one step with '{self._operator_of(self.fused[node])}'"
        if not set(operator.chain).isdisjoint(self.branching.values()):
            return "control flow, of which no step has the value"
        parts = [self.computed[node] for node in operator.chain if node in self.computed]
        if not parts:
            return "removed, folded or rewritten by the compiler"
        return "inside of a delegate without a step of its own" if parts[0] else "a view: no step"

    def together(self, operator: Operator) -> tuple[str, ...]:
        """The other operators that the step of an operator computes, in order."""
        site = self.site(operator)
        if site is None:
            return ()
        fused = {node for node, key in self.fused.items() if key == site.node}
        chosen = {
            one.name
            for one in self.operators
            if self.site(one) is None and not fused.isdisjoint(one.chain)
        }
        chosen.add(operator.name)
        chosen |= {one.name for one in self.operators if one.folded_into in chosen}
        return tuple(
            one.name for one in self.operators if one.name in chosen and one is not operator
        )

    def _operator_of(self, node: str) -> str:
        return next((one.name for one in self.operators if node in one.chain), node)

    def site(self, operator: Operator) -> Site | None:
        """Where the program computes an operator's value, as near to its end as there is one."""
        nodes = list(operator.chain)
        if len(nodes) > 1:  # the integers rather than the floats that they stand for
            nodes = [nodes[1], *reversed(nodes[2:]), nodes[0]]
        return next((self.sites[node] for node in nodes if node in self.sites), None)


def align(run: Subject, parts: ProgramParts, method: str = "forward") -> Alignment:
    """Align a run with a program that was made from it.

    Args:
        run: the run.
        parts: its program, or one with the same instructions.
        method: which method of the program.
    """
    lowered = run.quantized or run.exported
    operators = operators_of(run.exported, run.quantized)
    finder = SiteFinder(run.delegated.edge_graph(method), lowered.graph, parts)
    finder.find(run.program.instruction_nodes(method))
    inputs = tuple(str(name) for name in lowered.graph_signature.user_inputs)
    return Alignment(
        operators,
        finder.sites,
        finder.fused,
        parts,
        finder.numbers,
        finder.orders,
        inputs,
        finder.branching,
        finder.computed,
    )
