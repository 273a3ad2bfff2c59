"""A backend written in a cell: contract, nodes, parameters, and what goes wrong in it."""

import copy
import threading
import time

import pytest
import torch
from torch import nn
from torch.export import Dim

import etlab
from etlab.custom_backend import StoredGraph
from etlab.custom_backend.stored_graph import StoredNode
from etlab.errors import (
    EtlabError,
    InternalError,
    InterruptedExecutionError,
    InvalidArgumentError,
    InvalidProgramError,
    NotFoundError,
)
from etlab.exir.partition.registry import backend_class, find_partitioner
from etlab.quantize import Quantizer
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_backends import check_backend, lowered_modules, nodes_left

torch.manual_seed(0)
X = torch.randn(3, 8)
MLP = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)).eval()


@etlab.backend("test-cell")
class TestCell:
    """Linear layers by sums, everything else as PyTorch does."""

    __test__ = False
    operators = ("relu", "aten.add.Tensor", "split_with_sizes", "t", "constant_pad_nd", "max")

    def __init__(self, gain: float = 1.0):
        self.gain = gain

    @etlab.backend_kernel("aten.linear")
    def linear(self, x, weight, bias=None):
        product = (x[..., None, :] * weight).sum(-1)
        return self.gain * (product if bias is None else product + bias)


def run_natively(program, calls):
    method = Runtime.get().load_program(program).load_method("forward")
    return [method.execute(list(call)) for call in calls]


def _export(name, model=MLP, inputs=(X,), **parameters):
    settings = ",".join(f"{key}={value}" for key, value in parameters.items())
    return etlab.export(model, inputs, partitioner=f"{name}:{settings}" if settings else name)


class Mixed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(8, 6)
        self.scale = nn.Parameter(torch.tensor(0.5))

    def forward(self, x):
        left, right = torch.split(self.layer(x), [2, 4], dim=1)
        padded = torch.nn.functional.pad(left, (1, 1), value=float("inf"))
        best, where = right.max(dim=1)
        return (padded + right + self.scale).relu().t(), best, where


@pytest.mark.parametrize("model", [MLP, Mixed().eval()])
def test_a_cell_backend_computes_what_eager_does(model):
    check_backend(find_partitioner("test-cell"), model, X, runners=[run_natively])


def test_dynamic_sizes_reach_the_kernels():
    check_backend(
        find_partitioner("test-cell"),
        MLP,
        X,
        runners=[run_natively],
        more_inputs=[[torch.randn(7, 8)], [torch.randn(2, 8)]],
        dynamic_shapes={"input": {0: Dim("rows", min=2, max=9)}},
    )


def test_what_the_class_does_not_name_is_left_with_a_reason():
    model = nn.Sequential(nn.Linear(8, 8), nn.Sigmoid())
    edge = check_backend(
        find_partitioner("test-cell"), model, X, runners=[run_natively], is_whole=False
    )
    assert nodes_left(edge) == ["aten.sigmoid.default"]
    report = _export("test-cell", model).delegation()
    assert "not among the operators of 'test-cell'" in str(
        report.reasons.to_dataframe()["reason"].tolist()
    )


def test_parameters_reach_the_kernels_and_are_stored_in_the_program(tmp_path):
    run = _export("test-cell", gain=2.0)
    run.save(tmp_path / "m.pte")
    method = Runtime.get().load_program(tmp_path / "m.pte").load_method("forward")
    first, _, last = MLP
    assert_same(method.execute([X])[0], 2 * last(2 * first(X).relu()))
    assert "gain=1.0" in str(etlab.list_partitioners())


def test_a_parameter_without_default_is_asked_for():
    @etlab.backend("test-needy")
    class TestNeedy:
        operators = ("relu",)

        def __init__(self, bits: int):
            self.bits = bits

    with pytest.raises(InvalidArgumentError, match="needs bits: write 'test-needy:bits=value'"):
        _export("test-needy")


def test_the_simulation_computes_with_the_chosen_parameters():
    run = etlab.export(
        MLP, (X,), partitioner="test-cell:gain=2.0", quantizer="int8-weights", calibration=[(X,)]
    )
    report = run.parity(paths=["native"], reference="quantized", layers=False, simulate="test-cell")
    assert report.to_dataframe()["max_abs"].max() < 1e-5


def test_a_simulation_by_no_backend_is_refused_with_those_there_are():
    run = etlab.export(MLP, (X,), partitioner="test-cell", quantizer="int8-weights")
    with pytest.raises(NotFoundError, match="no backend 'nobody'; there are: "):
        run.parity(simulate="nobody")


def test_nodes_tell_times_and_results_and_parity_looks_inside():
    run = _export("test-cell")
    report = run.parity(paths=["native"])
    assert {one.path: one.local for one in report.coverage}["native"] == 3
    method = run.file.program.load_method("forward")
    with method.trace(results=True) as trace:
        method.execute([X])
    (nodes,) = [event.nodes for event in trace.runs[0].events if event.nodes]
    assert [node.name for node in nodes] == ["linear", "relu", "linear"]
    assert all(node.duration > 0 for node in nodes)
    assert_same(nodes[1].results[0].tensor, MLP[0](X).relu())


def test_the_stored_graph_can_be_tapped_and_cut():
    edge = check_backend(find_partitioner("test-cell"), MLP, X, runners=[run_natively])
    (lowered,) = lowered_modules(edge)
    graph = backend_class(lowered.backend_id).look_inside(lowered.processed_bytes)
    relu = graph.nodes[1]
    compute = TestCell.__dict__  # kernels by name, as the definition finds them
    assert compute["linear"].backend_operators == ("aten.linear",)
    cut = StoredGraph.from_bytes(graph.excerpt(relu.inputs, relu.outputs))
    outputs, _ = cut.run(lambda operator, args, kwargs: args[0].relu(), [X])
    assert_same(outputs[0], X.relu())
    assert len(StoredGraph.from_bytes(graph.tapped(relu.outputs)).results) == 2


def test_a_backend_with_a_format_of_its_own_runs():
    @etlab.backend("test-own-format")
    class TestOwnFormat:
        def takes(self, node):
            return str(node.target) == "aten.relu.default" or "only relu"

        def preprocess(self, subgraph):
            return b"relu" * len([n for n in subgraph.graph.nodes if n.op == "call_function"])

        def load(self, processed):
            return len(processed) // 4

        def execute(self, count, inputs, observer):
            if observer is not None:
                observer.node("All", index=0)
            return inputs[0].numpy().clip(0) if count == 1 else None

    run = _export("test-own-format", nn.ReLU(), (X,))
    assert_same(run.run((X,)), X.relu())
    (group,) = _export("test-own-format").delegation().reasons
    assert (group.reason, group.calls) == ("only relu", 2)


def _failing(execute):
    @etlab.backend("test-failing")
    class TestFailing:
        operators = ("relu",)

    TestFailing.execute = execute
    return etlab.backend("test-failing")(TestFailing)


def _run_failing(execute):
    _failing(execute)
    return _export("test-failing", nn.ReLU(), (X,)).run((X,))


def test_an_exception_carries_its_traceback_and_the_kernel_lives():
    def execute(self, graph, inputs):
        raise ZeroDivisionError("the accumulator is gone")

    with pytest.raises(InternalError, match=r"(?s)Traceback.*the accumulator is gone"):
        _run_failing(execute)
    assert_same(_run_failing(lambda self, graph, inputs: inputs[0].relu()), X.relu())


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (lambda x: x.relu().double(), "float64"),
        (lambda x: torch.cat([x, x]), r"\[6, 8\]|6x8|\(6, 8\)"),
        (lambda x: [x, x], "2 outputs"),
        (lambda x: "nothing", "cannot be read as a tensor"),
    ],
)
def test_wrong_results_are_errors_that_say_what_came(returned, message):
    with pytest.raises(EtlabError, match=message):
        _run_failing(lambda self, graph, inputs: returned(inputs[0]))


def test_stop_ends_a_backend_that_hangs():
    started = threading.Event()

    def execute(self, graph, inputs):
        started.set()
        while True:
            time.sleep(0.01)

    _failing(execute)
    run = _export("test-failing", nn.ReLU(), (X,))
    method = run.file.program.load_method("forward")
    caught = []

    def work():
        try:
            method.execute([X])
        except BaseException as error:
            caught.append(error)

    worker = threading.Thread(target=work)
    worker.start()
    assert started.wait(10)
    method.interrupt()
    worker.join(10)
    assert not worker.is_alive()
    assert [type(error) for error in caught] == [InterruptedExecutionError]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({}, "takes no operator"),
        ({"operators": "relu"}, "must be names"),
        ({"operators": ("relu",), "preprocess": lambda self, subgraph: b""}, "define it"),
    ],
)
def test_classes_that_are_no_backend_are_refused(content, message):
    with pytest.raises(InvalidArgumentError, match=message):
        etlab.backend("test-none")(type("TestNone", (), content))


def test_a_quantizer_can_come_with_the_backend():
    class Halving(Quantizer):
        """Weights of half the size."""

        name, summary = "test-halving", "halves every weight"

        def quantize(self, request):
            halved = copy.deepcopy(request.model)
            for parameter in halved.parameters():
                parameter.data /= 2
            return torch.export.export(halved, request.example_inputs)

    @etlab.backend("test-with-quantizer")
    class TestWithQuantizer:
        operators = ("linear", "relu")
        quantizer = Halving

    run = etlab.export(MLP, (X,), partitioner="test-with-quantizer", quantizer="test-halving")
    first, _, last = MLP
    halved = (last(first(X).relu() / 2) - last.bias) / 2 + last.bias / 2
    assert_same(run.run((X,)), halved)


@pytest.mark.parametrize(("name", "kind"), [("xnnpack", "Mine"), ("mine", "XnnpackBackend")])
def test_names_of_etlabs_own_backends_are_taken(name, kind):
    with pytest.raises(InvalidArgumentError, match="belongs to etlab"):
        etlab.backend(name)(type(kind, (), {"operators": ("relu",)}))


def test_preprocess_that_returns_no_bytes_is_refused():
    @etlab.backend("test-text")
    class TestText:
        operators = ("relu",)

        def preprocess(self, subgraph):
            return "text"

        def execute(self, processed, inputs):
            return inputs

    with pytest.raises(InvalidArgumentError, match="expected bytes, got str"):
        _export("test-text", nn.ReLU(), (X,))


def test_damaged_bytes_are_a_typed_error():
    with pytest.raises(InvalidProgramError, match="no graph of this etlab"):
        StoredGraph.from_bytes(b"PK\x03\x04 damaged")


def test_a_stored_call_without_an_operators_full_name_is_refused_when_it_is_read():
    graph = StoredGraph([StoredNode("relu", (), {}, (1,), 0, False)], {}, {}, [0], [1])
    with pytest.raises(InvalidProgramError, match="'relu' is no operator's name"):
        StoredGraph.from_bytes(graph.to_bytes())
