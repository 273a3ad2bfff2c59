"""Recurrent layers as the exporter leaves them: one call for all layers, directions and steps."""

import contextlib
import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Self

import torch
from torch import fx
from torch._C import DispatchKey
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor

aten = torch.ops.aten

RECURRENT: frozenset[OpOverload] = frozenset(
    {aten.lstm.input, aten.gru.input, aten.rnn_tanh.input, aten.rnn_relu.input}
)
# The same on sequences of different lengths in one tensor.
PACKED: frozenset[OpOverload] = frozenset(
    {aten.lstm.data, aten.gru.data, aten.rnn_tanh.data, aten.rnn_relu.data}
)
PACKED_WAY_OUT = (
    "A program cannot hold packed sequences: give the layer the padded tensor and, of each "
    "sequence, take the output of its last step (outputs[torch.arange(batch), lengths - 1])."
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


@contextlib.contextmanager
def recurrent_layers_whole() -> Iterator[None]:
    """Let `torch.export` take recurrent layers as they are.

    It keeps them as one node anyway, but only after it has run their steps one by one on fakes to
    learn the sizes of the result, which takes seconds and fixes the number of steps. Inside this
    block the sizes are computed: an export takes no longer than that of other layers, and the
    sequence's length may be dynamic.
    """
    keys = (DispatchKey.CompositeImplicitAutograd, DispatchKey.Autograd)
    outer = [
        (operator, key, operator.py_kernels.get(key)) for operator in RECURRENT for key in keys
    ]
    for operator, key, kernel in outer:
        if kernel is not None:
            operator.py_kernels[key] = functools.partial(_sizes_only, operator, kernel)
            operator._dispatch_cache.clear()
    try:
        yield
    finally:
        for operator, key, kernel in outer:
            if kernel is not None:
                operator.py_kernels[key] = kernel
                operator._dispatch_cache.clear()


def _sizes_only(operator: OpOverload, kernel: Callable[..., Any], *args: Any) -> Any:
    """The results of a call on fakes, uninitialized; a tracer gets the real computation."""
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    values, states = args[:2]
    is_fake = isinstance(values, FakeTensor)
    if not is_fake or get_proxy_mode() is not None:
        return kernel(*args)
    is_lstm = operator is aten.lstm.input
    hidden = states[0] if is_lstm else states
    directions = 2 if args[7] else 1
    output = values.new_empty((*values.shape[:2], hidden.shape[-1] * directions))
    finals = [state.new_empty(state.shape) for state in (states if is_lstm else (states,))]
    return (output, *finals)
