"""What payloads are made of: fusion, constants stored once, sizes that vary, debug handles."""

import pytest
import torch
import torch.nn.functional as F  # noqa: N812
from interop.xnnpack import check, node_names, payloads
from torch import nn
from torch.export import Dim

import etlab
from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.testing_backends import lowered_modules


def _random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _limits(edge):
    found = [node.output_min_max for graph in payloads(edge) for node in graph.xnodes]
    return [(limit.output_min, limit.output_max) for limit in found if limit is not None]


def test_activations_become_limits_of_the_node_before():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU6(), nn.Conv2d(4, 3, 1), nn.Hardtanh(-2, 0.5))
    edge = check(layers, _random(1, 3, 5, 5))
    assert node_names(edge) == ["StaticTranspose", "Conv2d", "Conv2d", "StaticTranspose"]
    assert _limits(edge) == [(0, 6), (-2, 0.5)]


def test_limits_of_limits_are_the_narrower_ones():
    edge = check(lambda x: (x + x).clamp(-1, 2).relu(), _random(3, 5))
    assert _limits(edge) == [(0, 2)]
    assert _limits(check(lambda x: (x + x).clamp(-2, -1).relu(), _random(3, 5))) == [
        (-2, -1),
        (0, float("inf")),
    ]


def test_a_result_that_is_used_unlimited_too_keeps_its_own_node():
    edge = check(lambda x: (lambda y: (y.relu(), y))(x + x), _random(3, 5))
    assert node_names(edge) == ["Add", "Clamp"]


def test_zero_padding_becomes_the_convolutions_own():
    torch.manual_seed(0)
    layers = nn.Sequential(nn.ZeroPad2d((0, 1, 2, 0)), nn.Conv2d(3, 4, 3, padding=1))
    assert "StaticConstantPad" not in node_names(check(layers, _random(1, 3, 5, 5)))


@pytest.mark.parametrize(
    "padding", [nn.ConstantPad2d(1, 0.5), nn.ConstantPad3d((0, 0, 0, 0, 1, 0), 0)]
)
def test_other_padding_stays(padding):
    torch.manual_seed(0)
    layers = nn.Sequential(padding, nn.Conv2d(3 + (padding.value == 0), 4, 3))
    assert "StaticConstantPad" in node_names(check(layers, _random(1, 3, 5, 5)))


def test_a_layer_before_two_norms_is_folded_into_each_by_itself():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 4, 1)
            self.norms = nn.ModuleList([nn.BatchNorm2d(4), nn.BatchNorm2d(4)])

        def forward(self, x):
            y = self.layer(x)
            return self.norms[0](y), self.norms[1](self.layer(x))

    torch.manual_seed(0)
    model = Model()
    for norm in model.norms:
        norm.running_mean.uniform_(-1, 1)
        norm.running_var.uniform_(0.5, 2)
    check(model, _random(1, 3, 5, 5))


class Tied(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(6, 6), nn.Linear(6, 6)
        self.second.weight = self.first.weight

    def forward(self, x):
        return self.second(self.first(x).sort(-1).values)


def test_a_tied_weight_is_stored_once():
    torch.manual_seed(0)
    edge = check(Tied(), _random(3, 6), is_whole=False)
    first, second = (module.named_data for module in lowered_modules(edge))
    assert len(first.keys() & second.keys()) == 1
    assert len(first.keys() | second.keys()) == 3


def test_a_layer_used_twice_has_one_weight():
    torch.manual_seed(0)
    layer = nn.Linear(5, 5)
    (graph,) = payloads(check(nn.Sequential(layer, nn.ReLU(), layer), _random(3, 5)))
    assert len(graph.constant_data) == 3


def test_nodes_carry_the_debug_handles_of_the_model():
    edge = check(lambda x: x.exp().sin(), _random(3, 5))
    (module,) = lowered_modules(edge)
    own = [n.meta["debug_handle"] for n in module.original.graph.nodes if n.op == "call_function"]
    assert list(module.debug_handle_map.values()) == own
    assert [node.debug_handle for node in payloads(edge)[0].xnodes] == own


def test_lowering_twice_gives_the_same_bytes():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(36, 2))
    first, second = (check(model, _random(1, 3, 5, 5)) for _ in range(2))
    assert lowered_modules(first)[0].processed_bytes == lowered_modules(second)[0].processed_bytes


ROWS, LENGTH = Dim("rows", min=1, max=6), Dim("length", min=4, max=12)


@pytest.mark.parametrize(
    ("model", "shapes", "calls"),
    [
        pytest.param(
            nn.Sequential(nn.Linear(8, 3), nn.ReLU()),
            {0: ROWS},
            [(3, 8), (1, 8), (6, 8)],
            id="rows of a linear layer",
        ),
        pytest.param(
            nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU6(), nn.MaxPool2d(2)),
            {0: ROWS, 2: Dim("height", min=6, max=12)},
            [(2, 2, 8, 7), (1, 2, 12, 7), (6, 2, 6, 7)],
            id="batch and height",
        ),
        pytest.param(
            nn.Conv1d(2, 3, 3), {2: LENGTH}, [(3, 2, 7), (3, 2, 4), (3, 2, 12)], id="length"
        ),
        pytest.param(
            nn.Sequential(nn.Conv2d(2, 3, 3), nn.Flatten(), nn.Linear(27, 2)),
            {0: ROWS},
            [(2, 2, 5, 5), (1, 2, 5, 5)],
            id="flattened",
        ),
        pytest.param(
            nn.Sequential(nn.BatchNorm2d(2), nn.Softmax(1)),
            {0: ROWS, 3: LENGTH},
            [(2, 2, 5, 5), (1, 2, 5, 9)],
            id="softmax over channels",
        ),
    ],
)
def test_sizes_may_vary(model, shapes, calls):
    torch.manual_seed(0)
    first, *rest = [_random(*shape) for shape in calls]
    check(model, first, more_inputs=[(x,) for x in rest], dynamic_shapes=(shapes,), is_whole=False)


def test_weights_can_come_at_run_time():
    torch.manual_seed(0)
    partitioner = XnnpackPartitioner(force_fp32_dynamic_linear=True)
    edge = check(nn.Linear(5, 3), _random(2, 5), partitioner=partitioner)
    (graph,) = payloads(edge)
    assert len(graph.input_ids) == 2


def test_bfloat16_layers_on_request():
    torch.manual_seed(0)
    layers = nn.Linear(8, 3).bfloat16()
    check(layers, _random(3, 8).bfloat16(), partitioner=XnnpackPartitioner(enable_bf16=True))


def test_hardswish_and_padding_of_one_model_with_dynamic_batch():
    torch.manual_seed(0)

    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Conv2d(3, 4, 3, 2, groups=1)

        def forward(self, x):
            return F.hardswish(self.layer(F.pad(x, (1, 1, 1, 1))))

    edge = check(
        Model(),
        _random(2, 3, 5, 5),
        more_inputs=[(_random(1, 3, 5, 5),)],
        dynamic_shapes=({0: ROWS},),
    )
    assert "Hardswish" in node_names(edge)


def test_a_weight_that_a_kernel_uses_too_is_stored_once():
    class TiedEmbedding(nn.Module):
        def __init__(self):
            super().__init__()
            self.embedding, self.head = nn.Embedding(500, 16), nn.Linear(16, 500, bias=False)
            self.head.weight = self.embedding.weight

        def forward(self, x):
            return self.head(self.embedding(x))

    torch.manual_seed(0)
    model, tokens = TiedEmbedding(), torch.arange(7)
    edge = check(model, tokens, is_whole=False)
    (module,) = lowered_modules(edge)
    assert len(module.named_data) == 1
    run = etlab.export(model, (tokens,), partitioner="xnnpack")
    weight = model.embedding.weight
    assert len(run.file.data) < 1.5 * weight.numel() * weight.element_size()
    report = run.size()
    assert sum(entry.nbytes for entry in report.entries) == len(run.file.data)
