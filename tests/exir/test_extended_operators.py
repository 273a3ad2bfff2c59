"""Attention and recurrent layers, whole in a file and taken apart."""

import warnings
from typing import Any

import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch import nn
from torch.export import Dim
from torch.nn import functional

from etlab.exir import official_operators
from etlab.exir.recurrent import recurrent_layers_whole
from etlab.runtime import Runtime
from etlab.testing import assert_same

LAYERS: dict[str, tuple[type[nn.RNNBase], dict[str, Any]]] = {
    "aten::lstm.input_out": (nn.LSTM, {"num_layers": 2, "bidirectional": True, "proj_size": 3}),
    "aten::gru.input_out": (nn.GRU, {"batch_first": True}),
    "aten::rnn_tanh.input_out": (nn.RNN, {"bias": False}),
    "aten::rnn_relu.input_out": (nn.RNN, {"nonlinearity": "relu", "dropout": 0.5, "num_layers": 2}),
}
ATTENTION = "aten::scaled_dot_product_attention.out"
MASK = seeded(5, 7) > 0


class Recurrent(nn.Module):
    def __init__(self, layer: type[nn.RNNBase], **options: Any) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.layer = layer(3, 5, **options)

    def forward(self, x: torch.Tensor) -> Any:
        return self.layer(x)


MODELS: dict[str, tuple[nn.Module, tuple[torch.Tensor, ...]]] = {
    **{
        name: (Recurrent(layer, **options), (seeded(6, 4, 3),))
        for name, (layer, options) in LAYERS.items()
    },
    ATTENTION: (
        Function(lambda q, k: functional.scaled_dot_product_attention(q, k, k, MASK, scale=0.3)),
        (seeded(2, 4, 5, 8), seeded(2, 4, 7, 8, seed=1)),
    ),
}


def _execute(program: Any, *inputs: torch.Tensor) -> list[torch.Tensor]:
    loaded = Runtime.get().load_program(program.buffer).load_method("forward")
    return list(loaded.execute(list(inputs)))


def _check(program: Any, model: nn.Module, *inputs: torch.Tensor) -> None:
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(model(*inputs))
    for actual, wanted in zip(_execute(program, *inputs), expected, strict=True):
        assert_same(actual, wanted)


@pytest.mark.parametrize("name", MODELS)
def test_extended_operators_stay_whole_and_are_warned_of_by_name(name: str) -> None:
    model, inputs = MODELS[name]
    with pytest.warns(UserWarning, match=name.replace(".", r"\.")):
        program = lower(model, *inputs, extended_operators=True)
    assert program.memory_plan().steps == (name,)
    _check(program, model, *inputs)


@pytest.mark.parametrize("name", MODELS)
def test_default_files_hold_official_operators_only(name: str) -> None:
    model, inputs = MODELS[name]
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message=".*no kernel in the official runtime")
        program = lower(model, *inputs)
    names = {step for step in program.memory_plan().steps if step.startswith("aten::")}
    assert names <= official_operators.ALL
    _check(program, model, *inputs)


@pytest.mark.filterwarnings("ignore:aten.*has no kernel in the official runtime")
@pytest.mark.parametrize("is_extended", [True, False])
@pytest.mark.parametrize("name", MODELS)
def test_sequences_of_any_length_are_served(name: str, is_extended: bool) -> None:
    model, inputs = MODELS[name]
    if name == ATTENTION:
        model = Function(lambda q, k: functional.scaled_dot_product_attention(q, k, k))
        dims: tuple[Any, ...] = ({2: Dim("rows", max=40)}, {2: Dim("keys", max=50)})
        others = [
            (seeded(2, 4, rows, 8), seeded(2, 4, keys, 8)) for rows, keys in [(1, 2), (9, 31)]
        ]
    else:
        dims = ({0: Dim("first", max=40), 1: Dim("second", max=9)},)
        others = [(seeded(2, 9, 3),), (seeded(31, 2, 3),)]
    dynamic = {"inputs": dims} if name == ATTENTION else dims
    with recurrent_layers_whole():
        program = lower(model, *inputs, dynamic_shapes=dynamic, extended_operators=is_extended)
    for given in (inputs, *others):
        _check(program, model, *given)


@pytest.mark.filterwarnings("ignore:aten.*has no kernel in the official runtime")
def test_what_the_kernels_do_not_serve_is_taken_apart() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)

    steps = lower(Function(attend), seeded(1, 3, 5), extended_operators=True).memory_plan().steps
    assert "aten::_softmax.out" in steps
    assert ATTENTION not in steps


def test_an_operator_called_twice_is_warned_of_once() -> None:
    def attend(x: torch.Tensor) -> torch.Tensor:
        attention = functional.scaled_dot_product_attention
        return attention(attention(x, x, x), x, x)

    with pytest.warns(UserWarning, match=ATTENTION) as caught:
        lower(Function(attend), seeded(1, 3, 5), extended_operators=True)
    assert sum(ATTENTION in str(warning.message) for warning in caught) == 1
