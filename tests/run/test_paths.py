import collections

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError
from etlab.exir.memory import Memory
from etlab.numerics.official import is_available
from etlab.runtime import Runtime

LOCAL = ["eager", "exported", "native"]


def test_every_local_path_computes_what_eager_does(plain, picture):
    report = plain.parity(picture, paths=LOCAL)
    report.check(paths=["exported", "native"], sqnr_db=100, max_abs=1e-5, top1=1.0)
    assert [row.path for row in report.rows] == LOCAL


def test_quantized_run_compares_simulation_and_native(quantized, picture):
    report = quantized.parity(picture, paths=["eager", "quantized", "native"])
    report.check(sqnr_db=25, cosine=0.99)
    simulated, native = (report.row(path).values["sqnr_db"] for path in ("quantized", "native"))
    assert native == pytest.approx(simulated, abs=0.5)


def test_run_gives_outputs_in_the_models_structure():
    class Nested(nn.Module):
        def forward(self, x):
            return {"sum": x + 1, "parts": (x * 2, [x - 1])}

    x = torch.arange(6.0).reshape(2, 3)
    run = etlab.export(Nested(), (x,))
    expected = Nested()(x)
    for path in LOCAL:
        found = run.run(x, path=path)
        assert torch.equal(found["parts"][1][0], expected["parts"][1][0])
        assert torch.equal(found["sum"], expected["sum"])


Box = collections.namedtuple("Box", "low high")


def test_named_results_come_back_as_the_models_classes():
    class Bounds(nn.Module):
        def forward(self, box):
            return Box(box.low - 1, torch.topk(box.high, 2))

    box = Box(torch.arange(3.0), torch.arange(5.0))
    run = etlab.export(Bounds(), (box,))
    method = Runtime.get().load_program(run.file.data).load_method("forward")
    for found in (run.run((box,)), method(box)):
        assert type(found) is Box
        assert type(found.high) is torch.return_types.topk
        assert torch.equal(found.high.indices, torch.tensor([4, 3]))


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (torch.ones(1, 5), r"input 0 \(input\), dimension 1: expected 4, got 5"),
        (torch.ones(9, 4), r"input 0 \(input\), dimension 0: expected 0..8, got 9"),
        (torch.ones(4), r"input 0 \(input\): expected 2 dimensions, got 1"),
        (torch.ones(1, 4, dtype=torch.int32), r"expected torch.float32, got torch.int32"),
        ((torch.ones(1, 4), 3), r"expected 1 input as at export, got 2"),
        ((3,), r"input 0 \(input\): expected a Tensor, got int 3"),
    ],
)
def test_inputs_that_the_export_does_not_take_are_refused_in_words(inputs, message):
    shapes = {"input": {0: torch.export.Dim("batch", max=8)}}
    run = etlab.export(nn.Linear(4, 2).eval(), torch.ones(3, 4), dynamic_shapes=shapes)
    with pytest.raises(InvalidArgumentError, match=message):
        run.run(inputs, path="exported")
    with pytest.raises(InvalidArgumentError, match=message):
        run.parity(inputs)


def test_unknown_path_lists_the_paths_of_the_run(plain, picture):
    with pytest.raises(InvalidArgumentError, match="eager, exported, native, official"):
        plain.run(picture, path="quantized")


def test_official_path_computes_what_eager_does(plain, quantized, picture):
    if not is_available():
        pytest.skip("needs the executorch package")
    for run, bound in ((plain, 100), (quantized, 25)):
        report = run.parity(picture, paths=["eager", "official"])
        report.check(paths=["official"], sqnr_db=bound)


def test_parity_uses_calibration_data_and_warns_of_noise(classifier, picture):
    torch.manual_seed(0)
    noise = torch.randn_like(picture)
    run = etlab.export(classifier, (noise,), calibration=[(picture,), (picture * 2,)])
    assert run.parity(paths=["eager"]).samples == 2
    assert run.parity(paths=["eager"]).warnings == ()
    assert "random noise" in run.parity(noise, paths=["eager"]).warnings[0]


def test_parity_leaves_the_models_state_alone():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3))

        def forward(self, x):
            self.count.add_(1)
            return x + self.count

    model = Counter()
    run = etlab.export(model, (torch.arange(3.0),))
    report = run.parity([(torch.arange(3.0),)] * 2, paths=LOCAL)
    assert torch.equal(model.count, torch.zeros(3))
    report.check(max_abs=0)


def test_one_name_is_a_list_of_one(plain, picture):
    report = plain.parity(picture, paths="native", metrics="max_abs", layers=False)
    assert {row.path for row in report.rows} == {"eager", "native"}
    assert report.metrics == ("max_abs",)
    assert list(plain.lint(rules="left-out").rules) == ["left-out"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"layers": -1}, "True, False or a number of samples, got -1"),
        ({"layers": "all"}, "True, False or a number of samples, got 'all'"),
        ({"metrics": []}, "parity: metrics: expected one name or more"),
        ({"paths": [3]}, "parity: paths: expected one name or more"),
        ({"reference": None}, "no path None in this run"),
        ({"simulate": "xnnpack"}, "this run has no path 'quantized'"),
    ],
)
def test_arguments_of_parity_are_checked_before_anything_runs(plain, picture, arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        plain.parity(picture, **arguments)


def test_tensors_of_a_path_without_operators_name_those_that_have(plain, picture):
    for path in ("eager", "nativ"):
        with pytest.raises(InvalidArgumentError, match="choose from exported, native, official"):
            plain.tensors("linear", picture, path=path)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda run: run.profile(runs="a"), "expected runs of 1 or more .* got 'a'"),
        (lambda run: run.delegation(runs="a"), "runs must be at least 1, not 'a'"),
        (lambda run: run.memory_plan(alignment="a"), "power of two, not a"),
        (lambda run: run.tensors(None), "no operator None"),
        (lambda run: run.delegated.to_executorch(3), "got int"),
        (lambda run: Memory("sram", "4KB"), "0 or more bytes, not '4KB'"),
    ],
)
def test_arguments_of_another_kind_are_refused_in_words(plain, ask, message):
    with pytest.raises(InvalidArgumentError, match=message):
        ask(plain)
