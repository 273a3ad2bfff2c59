"""LSTM, GRU and plain recurrent layers, which only etlab's runtime has."""

from collections.abc import Iterator
from typing import Any

import torch

from kernels.case import FLOATS, Case, Refusal, make_tensor

_OPTIONS = (
    "Tensor[] params, bool has_biases, int num_layers, float dropout, bool train,"
    " bool bidirectional, bool batch_first"
)
LSTM = (
    f"aten::lstm.input_out(Tensor input, Tensor[] hx, {_OPTIONS}, *, Tensor(a!) out0,"
    " Tensor(b!) out1, Tensor(c!) out2) -> (Tensor(a!), Tensor(b!), Tensor(c!))"
)


def _single(name: str) -> str:
    return (
        f"aten::{name}.input_out(Tensor input, Tensor hx, {_OPTIONS}, *, Tensor(a!) out0,"
        " Tensor(b!) out1) -> (Tensor(a!), Tensor(b!))"
    )


GRU, RNN_TANH, RNN_RELU = _single("gru"), _single("rnn_tanh"), _single("rnn_relu")
OPERATORS: dict[str, tuple[Any, int]] = {  # with the number of gates
    LSTM: (torch.ops.aten.lstm.input, 4),
    GRU: (torch.ops.aten.gru.input, 3),
    RNN_TANH: (torch.ops.aten.rnn_tanh.input, 1),
    RNN_RELU: (torch.ops.aten.rnn_relu.input, 1),
}


def arguments(
    operator: str,
    *,
    steps: int = 4,
    batch: int = 2,
    features: int = 3,
    hidden: int = 5,
    width: int | None = None,
    layers: int = 1,
    bidirectional: bool = False,
    has_biases: bool = True,
    batch_first: bool = False,
    dropout: float = 0.0,
    train: bool = False,
    dtype: torch.dtype = torch.float32,
    bound: float = 0.7,
) -> tuple[Any, ...]:
    """The arguments of a call; `width` is that of the hidden state, where it is projected."""
    seeds = iter(range(1000))

    def tensor(*shape: int) -> torch.Tensor:
        return make_tensor(*shape, dtype=dtype, low=-bound, high=bound, seed=next(seeds))

    gates = OPERATORS[operator][1] * hidden
    places = layers * (2 if bidirectional else 1)
    state_width = width or hidden
    weights: list[torch.Tensor] = []
    for place in range(places):
        is_first = place < places // layers
        inputs = features if is_first else state_width * places // layers
        weights += [tensor(gates, inputs), tensor(gates, state_width)]
        weights += [tensor(gates), tensor(gates)] if has_biases else []
        weights += [tensor(state_width, hidden)] if width else []
    values = tensor(batch, steps, features) if batch_first else tensor(steps, batch, features)
    state: Any = tensor(places, batch, state_width)
    if operator == LSTM:
        state = [state, tensor(places, batch, hidden)]
    return values, state, weights, has_biases, layers, dropout, train, bidirectional, batch_first


def case(operator: str, args: tuple[Any, ...]) -> Case:
    return Case(operator, args, reference=OPERATORS[operator][0])


def _layers(operator: str) -> Iterator[Case]:
    for options in (
        {},
        {"steps": 1},
        {"batch": 1, "steps": 9},
        {"batch": 0},
        {"features": 0},
        {"has_biases": False},
        {"layers": 3},
        {"bidirectional": True},
        {"layers": 2, "bidirectional": True, "batch_first": True, "batch": 3},
        {"batch_first": True, "has_biases": False, "steps": 6},
        {"hidden": 37, "features": 40, "batch": 33},
        {"dropout": 0.5, "layers": 2},
        {"dropout": 0.5, "train": True},  # acts between layers only, and there is one
    ):
        yield case(operator, arguments(operator, **options))
    for dtype in FLOATS:
        yield case(operator, arguments(operator, dtype=dtype, steps=3))


def _special(operator: str) -> Case:
    values, *rest = arguments(operator)
    values[1, 0, 2], values[2, 1, 0] = float("nan"), float("inf")
    return case(operator, (values, *rest))


def _turned(operator: str) -> Case:
    """Odd layouts of everything."""
    values, state, weights, *rest = arguments(operator)
    turned = [w.t().contiguous().t() if w.dim() == 2 else w for w in weights]
    return case(
        operator, (values.transpose(0, 2).contiguous().transpose(0, 2), state, turned, *rest)
    )


# Dot products, weights packed once, weights packed every step; tails of vectors.
FAST_CASES = [
    case(operator, arguments(operator, **options))
    for operator in OPERATORS
    for options in (
        {"batch": 1, "hidden": 19, "steps": 9},
        {"batch": 5, "hidden": 35, "features": 17, "layers": 2, "bidirectional": True},
        {"batch": 5, "hidden": 35, "steps": 2, "batch_first": True},
    )
]
# Long enough for several products with the inputs, the last one of fewer steps; larger weights
# would blow up rounding errors from step to step.
_LONG: dict[str, Any] = {"steps": 40, "batch": 40, "hidden": 64, "bound": 0.1}
CASES = [
    *FAST_CASES,
    case(LSTM, arguments(LSTM, bidirectional=True, **_LONG)),
    case(GRU, arguments(GRU, layers=2, bidirectional=True, batch_first=True, **_LONG)),
    case(LSTM, arguments(LSTM, width=21, hidden=40, batch=7, bidirectional=True)),
    *[one for operator in OPERATORS for one in _layers(operator)],
    *[make(operator) for operator in OPERATORS for make in (_special, _turned)],
    case(LSTM, arguments(LSTM, width=3)),
    case(LSTM, arguments(LSTM, width=3, hidden=0)),
    case(LSTM, arguments(LSTM, width=3, layers=2, bidirectional=True, batch_first=True)),
    case(LSTM, arguments(LSTM, width=7, has_biases=False, dtype=torch.float64)),
]


def _refused(operator: str, match: str, change: Any, **options: Any) -> Refusal:
    args = list(arguments(operator, **options))
    change(args)
    count = 3 if operator == LSTM else 2
    shapes = [(4, 2, 5)] + [(1, 2, 5)] * (count - 1)
    outputs = tuple(torch.empty(shape, dtype=args[0].dtype) for shape in shapes)
    return Refusal(operator, tuple(args), match, outputs=outputs)


def _set(place: int, value: Any) -> Any:
    return lambda args: args.__setitem__(place, value)


def _weight(place: int, *shape: int) -> Any:
    return lambda args: args[2].__setitem__(place, make_tensor(*shape))


REFUSALS = [
    _refused(LSTM, "two states", lambda args: args[1].pop()),
    _refused(LSTM, "the input's weight", _weight(0, 20, 4)),
    _refused(LSTM, "the state's weight", _weight(1, 19, 5)),
    _refused(GRU, "the input's bias", _weight(2, 5)),
    _refused(GRU, "the state's bias", _weight(3, 3, 5)),
    _refused(LSTM, "the projection", _weight(4, 5, 3), width=3),
    _refused(LSTM, "at least one value", lambda args: args[1].__setitem__(0, torch.empty(1, 2, 0))),
    _refused(RNN_TANH, "take 4 tensors, got 3", lambda args: args[2].pop()),
    _refused(GRU, "9223372036854775807 layers", _set(4, 2**63 - 1)),
    _refused(GRU, "-1 layers", _set(4, -1)),
    _refused(RNN_RELU, "the hidden state", _set(1, make_tensor(1, 3, 5))),
    _refused(LSTM, "the cell state", lambda args: args[1].__setitem__(1, make_tensor(2, 2, 5))),
    _refused(GRU, "at least one step", _set(0, make_tensor(0, 2, 3))),
    _refused(GRU, "the input", _set(0, make_tensor(4, 3))),
    _refused(GRU, "int64 is not supported", _set(0, make_tensor(4, 2, 3).long())),
    _refused(LSTM, "dropout 0.5 in training", _set(6, True), layers=2, dropout=0.5),
]
