"""Weights of few bits: by name, in any width, with and without a delegate."""

import pytest
import torch
from interop.xnnpack import node_names
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError
from etlab.quantize.base import quiet_imports
from etlab.quantize.intx import groups

with quiet_imports():
    from torchao.quantization import IntxWeightOnlyConfig, quantize_
    from torchao.quantization.granularity import PerGroup


class Words(nn.Module):
    """An embedding and two layers, the second of a width that 32 does not divide."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(11, 64)
        self.first, self.second = nn.Linear(64, 40), nn.Linear(40, 8, bias=False)

    def forward(self, words):
        return self.second(torch.relu(self.first(self.table(words))))


WORDS = (torch.tensor([[1, 2, 3], [10, 0, 2]]),)


@pytest.fixture(scope="module")
def words():
    torch.manual_seed(0)
    return Words().eval()


def _sqnr(run):
    rows = run.parity(paths=["quantized", "native"], metrics=["sqnr_db"]).rows
    return {row.path: row.values["sqnr_db"] for row in rows if row.path != "eager"}


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
@pytest.mark.parametrize(
    ("quantizer", "least"),
    [
        ("8da4w", 15),
        ("8da4w:scales=hqq,group_size=None", 12),
        ("8da4w:embedding_bits=4,embedding_group_size=32", 15),
        ("8da8w", 34),
        ("8da8w:embedding_bits=8", 34),
        ("int4-weights", 15),
        ("int4-weights:embedding_bits=2,embedding_group_size=32", 5),
        ("int4-weights:group_size=48", 15),
        ("int8-weights:min_elements=1", 34),
        ("int8-dynamic", 30),
        ("fp16", 50),
        ("bf16", 35),
    ],
)
def test_every_choice_runs_natively_as_in_pytorch(words, quantizer, least, partitioner):
    run = etlab.export(words, WORDS, quantizer=quantizer, partitioner=partitioner)
    assert not run.notes
    sqnr = _sqnr(run)
    assert sqnr["quantized"] > least
    # Rows of their own scales are nearer to float than one scale for all of them.
    assert sqnr["native"] > sqnr["quantized"] - 0.5


def test_layers_of_any_width_are_delegated(words):
    run = etlab.export(words, WORDS, quantizer="8da4w", partitioner="xnnpack")
    names = node_names(run.delegated.edge_graph("forward"))
    assert names.count("FullyConnected") == 2
    assert "StaticConstantPad" in names


def test_named_modules_stay_in_float(words):
    run = etlab.export(words, WORDS, quantizer=etlab.quantize.find_quantizer(
        "int4-weights", keep_float=["first", "table"], embedding_bits=4
    ))  # fmt: skip
    dtypes = {name: str(value) for name, value in run.quantized.state_dict.items()}
    assert "Intx" in dtypes["second.weight"]
    assert "Intx" not in dtypes["first.weight"] + dtypes["table.weight"]


def test_the_users_model_is_left_alone(words):
    before = {name: value.clone() for name, value in words.state_dict().items()}
    etlab.export(words, WORDS, quantizer="8da4w:embedding_bits=8")
    assert all(torch.equal(value, before[name]) for name, value in words.state_dict().items())
    assert not words.second._forward_pre_hooks


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ("scales=best", "scales: expected one of affine, hqq, got 'best'"),
        ("embedding_bits=3", "embedding_bits: expected 2, 4, 8 or None, got 3"),
        ("group_size=0", "group_size: expected a number of columns"),
    ],
)
def test_parameters_that_mean_nothing_are_refused(words, parameters, message):
    with pytest.raises(InvalidArgumentError, match=message):
        etlab.export(words, WORDS, quantizer=f"8da4w:{parameters}")


def test_a_widened_layer_computes_the_same():
    torch.manual_seed(0)
    layer, table = nn.Linear(5, 3), nn.Embedding(4, 5)
    x, rows = torch.linspace(-1, 1, 10).reshape(2, 5), torch.tensor([1, 3])
    before = layer(x), table(rows)
    groups.widen(layer, 4)
    groups.widen(table, 4)
    assert (layer.in_features, table.embedding_dim) == (8, 8)
    torch.testing.assert_close((layer(x), table(rows)), before)


def test_torchaos_own_function_takes_any_width_once_it_is_taught():
    groups.teach_torchao()
    torch.manual_seed(0)
    layer = nn.Linear(40, 3)
    x = torch.linspace(-1, 1, 80).reshape(2, 40)
    before = layer(x)
    quantize_(layer, IntxWeightOnlyConfig(torch.int8, PerGroup(32)))
    assert (layer(x) - before).abs().max() < 0.02
