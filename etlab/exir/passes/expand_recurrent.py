"""Write LSTM, GRU and RNN layers as loops over time."""

import operator
from typing import Any

import torch
from torch import fx

from etlab.exir.bodies import Call, body_graph
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import call_before, fake_like, provenance, replace
from etlab.exir.passes.base import Pass, PassResult
from etlab.exir.recurrent import RECURRENT, Cell, RecurrentCall, describe

aten = torch.ops.aten

_STATES = ("hidden", "cell")


class ExpandRecurrent(Pass):
    """Replace `lstm`, `gru`, `rnn_tanh` and `rnn_relu` by a `scan` a layer and direction.

    Before: `output, h, c = lstm(x, [h0, c0], weights, ...)`
    After: `gates = linear(x, w_ih, b_ih); h, c, output = scan(step, [h0, c0], [gates], weights)`

    The product with the inputs is one for all steps, ahead of the loop; a step has the product with
    the state and the gates. A sequence of one step needs no loop.

    Args:
        keeps_served: leave the calls that etlab's runtime has a kernel for: all without dropout.
    """

    def __init__(self, *, keeps_served: bool = False) -> None:
        self.keeps_served = keeps_served

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        nodes = [
            node
            for node in graph.graph.nodes
            if node.target in RECURRENT
            and not (self.keeps_served and describe(node).dropout == 0.0)
        ]
        for node in nodes:
            _Expansion(graph, node).run()
        changed = bool(nodes)
        for body in list(graph.submodules.values()):
            if isinstance(body, EdgeGraph):
                changed = self.run(body).changed or changed
        return PassResult(graph, changed)


class _Expansion:
    """One call on its way; time is the first dimension of every tensor in it."""

    def __init__(self, edge: EdgeGraph, node: fx.Node) -> None:
        self.edge, self.node = edge, node
        self.layer: RecurrentCall = describe(node)

    def call(self, target: Any, *args: Any, val: Any = None) -> fx.Node:
        return call_before(self.node, target, args, val=val)

    def run(self) -> None:
        layer = self.layer
        values = layer.input
        if layer.batch_first:
            values = self.call(aten.transpose_copy.int, values, 0, 1)
        finals: list[list[fx.Node]] = []
        for index in range(layer.layer_count):
            if index and layer.dropout > 0.0:
                val = values.meta["val"]
                pair = (val, fake_like(values, val.shape, torch.bool))
                dropped = self.call(
                    aten.native_dropout.default, values, layer.dropout, True, val=pair
                )
                values = self.call(operator.getitem, dropped, 0, val=val)
            outputs = []
            for direction in range(layer.direction_count):
                place = index * layer.direction_count + direction
                output, carried = self.direction(values, place, is_backward=direction == 1)
                outputs.append(output)
                finals.append(carried)
            values = outputs[0] if len(outputs) == 1 else self.call(aten.cat.default, outputs, -1)
        if layer.batch_first:
            values = self.call(aten.transpose_copy.int, values, 0, 1)
        states = [
            self.call(aten.stack.default, list(column)) for column in zip(*finals, strict=True)
        ]
        for user in list(self.node.users):
            replace(user, (values, *states)[user.args[1]])  # type: ignore[index]  # getitem's
        self.edge.graph.erase_node(self.node)

    def direction(
        self, values: fx.Node, place: int, *, is_backward: bool
    ) -> tuple[fx.Node, list[fx.Node]]:
        """One layer in one direction: its outputs (time, batch, width) and its last state."""
        cell = self.layer.cells[place]
        if is_backward:
            values = self.call(aten.flip.default, values, [0])
        gates = self.call(aten.linear.default, values, cell.input_weight, cell.input_bias)
        states = [self.call(aten.select_copy.int, state, 0, place) for state in self.layer.states]
        if isinstance(values.meta["val"].shape[0], int) and values.meta["val"].shape[0] == 1:
            row = self.call(aten.select_copy.int, gates, 0, 0)
            states = step(self.call, self.layer.kind, row, states, cell)
            output = self.call(aten.unsqueeze_copy.default, states[0], 0)
        else:
            output, states = self.loop(gates, states, cell)
        if is_backward:
            output = self.call(aten.flip.default, output, [0])
        return output, states

    def loop(
        self, gates: fx.Node, states: list[fx.Node], cell: Cell
    ) -> tuple[fx.Node, list[fx.Node]]:
        name = f"{self.node.name}_step"
        while name in self.edge.submodules:
            name += "_"
        row = fake_like(gates, gates.meta["val"].shape[1:])
        inputs = [(n, s.meta["val"]) for n, s in zip(_STATES, states, strict=False)]
        inputs += [("gates", row), *((o.name, o.meta["val"]) for o in cell.operands)]

        def compute(call: Call, given: list[fx.Node]) -> list[fx.Node]:
            inner, (gates, *weights) = given[: len(states)], given[len(states) :]
            results = step(call, self.layer.kind, gates, inner, cell.with_operands(weights))
            return [*results, results[0]]

        self.edge.submodules[name] = body_graph(name, inputs, provenance(self.node), compute)
        with self.edge.graph.inserting_before(self.node):
            attribute = self.edge.graph.create_node("get_attr", name)
        attribute.meta = provenance(self.node)
        hidden = states[0].meta["val"]
        stacked = fake_like(gates, (gates.meta["val"].shape[0], *hidden.shape), hidden.dtype)
        vals = (*(state.meta["val"] for state in states), stacked)
        scan = self.call(
            torch.ops.higher_order.scan, attribute, states, [gates], cell.operands, val=vals
        )
        results = [self.call(operator.getitem, scan, i, val=val) for i, val in enumerate(vals)]
        return results[-1], results[:-1]


def step(call: Call, kind: str, row: fx.Node, states: list[fx.Node], cell: Cell) -> list[fx.Node]:
    """One step of time, of a batch: the new states, hidden one first.

    Args:
        call: makes a node.
        kind: "lstm", "gru", "rnn_tanh" or "rnn_relu".
        row: the product of the step's input, (batch, gates * hidden).
        states: (batch, hidden) each; of an LSTM the hidden and the cell state.
        cell: the weights.
    """
    hidden = states[0]
    gates = call(aten.linear.default, hidden, cell.state_weight, cell.state_bias)
    if kind == "gru":
        return [_gru(call, row, gates, hidden)]
    total = call(aten.add.Tensor, row, gates)
    if kind == "rnn_tanh":
        return [call(aten.tanh.default, total)]
    if kind == "rnn_relu":
        return [call(aten.relu.default, total)]
    enter, forget, candidate, leave = _parts(call, total, 4)
    kept = call(aten.mul.Tensor, call(aten.sigmoid.default, forget), states[1])
    candidate = call(aten.tanh.default, candidate)
    entered = call(aten.mul.Tensor, call(aten.sigmoid.default, enter), candidate)
    memory = call(aten.add.Tensor, kept, entered)
    seen = call(aten.tanh.default, memory)
    hidden = call(aten.mul.Tensor, call(aten.sigmoid.default, leave), seen)
    if cell.projection is not None:
        hidden = call(aten.linear.default, hidden, cell.projection)
    return [hidden, memory]


def _gru(call: Call, row: fx.Node, gates: fx.Node, hidden: fx.Node) -> fx.Node:
    from_input, from_state = _parts(call, row, 3), _parts(call, gates, 3)
    reset, update = (
        call(aten.sigmoid.default, call(aten.add.Tensor, from_input[i], from_state[i]))
        for i in range(2)
    )
    recalled = call(aten.mul.Tensor, reset, from_state[2])
    new = call(aten.tanh.default, call(aten.add.Tensor, from_input[2], recalled))
    change = call(aten.sub.Tensor, hidden, new)
    return call(aten.add.Tensor, call(aten.mul.Tensor, change, update), new)


def _parts(call: Call, gates: fx.Node, count: int) -> list[fx.Node]:
    *outer, all_widths = gates.meta["val"].shape
    part = fake_like(gates, (*outer, all_widths // count))
    split = call(aten.split_copy.Tensor, gates, all_widths // count, -1, val=(part,) * count)
    return [call(operator.getitem, split, i, val=part) for i in range(count)]
