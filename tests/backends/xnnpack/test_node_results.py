"""What delegates hand out of their nodes: values, their integers, and whose results they are."""

import pytest
import torch
from interop.xnnpack import payloads
from torch import nn
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument

from etlab.backends.xnnpack import (
    XnnpackPartitioner,
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from etlab.exir import to_edge_transform_and_lower
from etlab.exir.graph import copy_edge_graph, run_edge_graph
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_backends import lowered_modules


def _random(*shape):
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


def _convolutions():
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(3, 5, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(5, 7, 3), nn.Sigmoid()
    ).eval()


def _lowered(module, *inputs, **options):
    exported = torch.export.export(module, inputs, **options)
    manager = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    (delegate,) = lowered_modules(manager.edge_graph())
    program = Runtime.get().load_program(bytes(manager.to_executorch().buffer))
    return delegate, program.load_method("forward"), payloads(manager.edge_graph())[0]


def _quantized(module, *inputs, **config):
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(get_symmetric_quantization_config(**config))
    prepared = prepare_pt2e(torch.export.export(module, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def _run(method, *inputs, results=True):
    with method.trace(results=results) as events:
        method.execute(list(inputs))
    return [event for event in events if event.name == "XnnpackBackend"]


def _in_eager(delegate, *inputs):
    """The result of every node of the subgraph by name, computed by torch."""
    edge = copy_edge_graph(delegate.original)
    nodes = [
        node
        for node in edge.graph.nodes
        if node.op == "call_function" and isinstance(node.meta["val"], torch.Tensor)
    ]
    edge.graph.output_node().args = (tuple(nodes),)
    edge.outputs = [OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(n.name), None) for n in nodes]
    return dict(zip([n.name for n in nodes], run_edge_graph(edge, inputs)[0], strict=True))


def test_every_node_hands_out_what_eager_computes_there():
    x = _random(1, 3, 9, 9)
    delegate, method, graph = _lowered(_convolutions(), x)
    (event,) = _run(method, x)
    expected = _in_eager(delegate, x)
    compared = set()
    for node in event.nodes:
        (result,) = node.results
        for origin in delegate.value_origins.get(result.value, ()):
            assert_same(origin.arrange(result.tensor).contiguous(), expected[origin.node])
            compared.add(origin.node)
    assert [node.index for node in event.nodes] == list(range(len(graph.xnodes)))
    # The first convolution is limited by the ReLU behind it: its own values exist nowhere.
    assert compared == set(expected) - {"convolution_default"}


def test_quantized_values_come_as_integers_with_scale_and_zero_point():
    x = _random(1, 3, 9, 9)
    delegate, method, _ = _lowered(_quantized(_convolutions(), x), x)
    (event,) = _run(method, x)
    expected = _in_eager(delegate, x)
    seen = 0
    for node in event.nodes:
        (result,) = node.results
        for origin in delegate.value_origins.get(result.value, ()):
            want = expected[origin.node]
            if result.scale is None or want.dtype is not torch.int8:
                continue
            assert result.scale.shape == result.zero_point.shape == ()
            got = origin.arrange(result.raw)
            assert got.dtype is torch.int8
            assert (got.int() - want.int()).abs().max() <= 1  # PT2E's arithmetic is another
            numbers = (result.raw.int() - result.zero_point) * result.scale
            assert_same(result.tensor, numbers.float())
            seen += 1
    assert seen >= 5


def test_values_quantized_by_rows_have_a_scale_for_each_row():
    torch.manual_seed(0)
    x = _random(2, 3, 33)
    _, method, _ = _lowered(
        _quantized(nn.Linear(33, 5), x, is_per_channel=True, is_dynamic=True), x
    )
    (event,) = _run(method, x)
    rows = next(n.results[0] for n in event.nodes if n.results[0].raw.dtype is torch.int8)
    assert rows.scale.shape == rows.zero_point.shape == (2, 3, 1)
    assert ((rows.tensor - x).abs() <= rows.scale).all()


def test_half_precision_nodes_compute_in_float():
    x = _random(3, 5).half()
    _, method, _ = _lowered(nn.Sigmoid(), x)
    (event,) = _run(method, x)
    given = {node.results[0].raw.dtype: node.index for node in event.nodes}
    assert given[torch.float16] is None, "conversions are no nodes of the payload"


def test_only_the_results_that_are_asked_for_are_kept():
    x = _random(1, 3, 9, 9)
    _, method, _ = _lowered(_convolutions(), x)
    for results, is_kept in ((False, False), ([0], True), ((), False)):
        (event,) = _run(method, x, results=results)
        assert event.nodes
        assert all(bool(node.results) is is_kept for node in event.nodes)
        assert (event.result is not None) is is_kept
    with pytest.raises(Exception, match="names instruction 7, there are 1"):
        _run(method, x, results=[7])


def test_results_by_handle_are_those_of_the_payloads_nodes():
    x = _random(3, 5)
    delegate, method, _ = _lowered(nn.Sequential(nn.Sigmoid(), nn.Tanh()), x)
    (event,) = _run(method, x)
    handles = {
        node.meta["debug_handle"]: node.name
        for node in delegate.original.graph.nodes
        if node.op == "call_function"
    }
    results = {handles[h]: r.tensor for h, r in event.results_by_handle().items()}
    assert_same(results["sigmoid_default"], torch.sigmoid(x))
    assert_same(results["tanh_default"], torch.tanh(torch.sigmoid(x)))


def test_sizes_that_vary_are_those_of_the_run():
    dynamic = {"input": {0: torch.export.Dim("n", max=9)}}
    _, method, _ = _lowered(nn.Sigmoid(), _random(3, 5), dynamic_shapes=dynamic)
    for count in (7, 0, 2):
        x = _random(count, 5)
        (event,) = _run(method, x)
        assert_same(event.nodes[-1].results[0].tensor, torch.sigmoid(x))


class _Bordered(nn.Module):
    """A border of zeros, quantized before the convolution that takes it over."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 5, 3, stride=2)

    def forward(self, x):
        return self.conv(nn.functional.pad(x, (0, 1, 0, 1)))


def test_a_quantization_that_leaves_its_border_to_the_next_node_gives_no_value():
    x = _random(1, 3, 8, 8)
    _, method, _ = _lowered(_quantized(_Bordered().eval(), x), x)
    (event,) = _run(method, x)
    values = {node.name: [tuple(v.tensor.shape) for v in node.results] for node in event.nodes}
    assert (1, 4, 4, 5) in values["Conv2d"]
    assert (1, 8, 8, 3) not in [s for name in values for s in values[name] if name == "Convert"]
