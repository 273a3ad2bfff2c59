"""Recurrent layers as the exporter leaves them: one call for all layers, directions and steps."""

from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import fx
from torch._ops import OpOverload

aten = torch.ops.aten

RECURRENT: frozenset[OpOverload] = frozenset(
    {aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input}
)
# The same on sequences of different lengths in one tensor.
PACKED: frozenset[OpOverload] = frozenset(
    {aten.lstm.data, aten.gru.data, aten.rnn_tanh.data, aten.rnn_relu.data}
)


@dataclass(frozen=True, slots=True)
class Cell:
    """The weights of one layer in one direction, as nodes.

    Attributes:
        input_weight: (gates * hidden, input).
        state_weight: (gates * hidden, output).
        input_bias: (gates * hidden) or None.
        state_bias: (gates * hidden) or None.
        projection: (output, hidden) or None; of an LSTM only.
    """

    input_weight: Any
    state_weight: Any
    input_bias: Any = None
    state_bias: Any = None
    projection: Any = None

    @property
    def operands(self) -> tuple[fx.Node, ...]:
        """What a step needs."""
        needed = (self.state_weight, self.state_bias, self.projection)
        return tuple(node for node in needed if node is not None)

    def with_operands(self, nodes: list[fx.Node]) -> Self:
        """The cell with other nodes for `operands`."""
        given = iter(nodes)
        return replace(
            self,
            state_weight=next(given),
            state_bias=None if self.state_bias is None else next(given),
            projection=None if self.projection is None else next(given),
        )


@dataclass(frozen=True, slots=True)
class RecurrentCall:
    """One call of a recurrent layer.

    Attributes:
        kind: "lstm", "gru", "rnn_tanh" or "rnn_relu".
        input: (time, batch, features), or (batch, time, features) with `batch_first`.
        states: (layers * directions, batch, width) each.
        cells: one a layer and direction.
        layer_count: layers on top of each other.
        direction_count: 2 when there is a backward one.
        dropout: between layers, as it acts: 0 in inference.
        batch_first: how `input` and the outputs lie.
    """

    kind: str
    input: fx.Node
    states: tuple[fx.Node, ...]
    cells: tuple[Cell, ...]
    layer_count: int
    direction_count: int
    dropout: float
    batch_first: bool


def describe(node: fx.Node) -> RecurrentCall:
    """Read a call of one of `RECURRENT`."""
    target: Any = node.target
    arguments: Any = node.args
    values, states, weights, has_biases, layers, dropout, train, bidirectional, batch_first = (
        arguments
    )
    directions = 2 if bidirectional else 1
    count = layers * directions
    size = len(weights) // count
    return RecurrentCall(
        kind=target._opname,
        input=values,
        states=tuple(states) if isinstance(states, list | tuple) else (states,),
        cells=tuple(_cell(weights[i * size : (i + 1) * size], has_biases) for i in range(count)),
        layer_count=layers,
        direction_count=directions,
        dropout=dropout if train else 0.0,
        batch_first=batch_first,
    )


def _cell(weights: Any, has_biases: bool) -> Cell:
    input_bias, state_bias = weights[2:4] if has_biases else (None, None)
    rest = weights[4 if has_biases else 2 :]
    projection = rest[0] if rest else None
    return Cell(weights[0], weights[1], input_bias, state_bias, projection)
