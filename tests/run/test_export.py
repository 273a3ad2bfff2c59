import copy

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import (
    ExportError,
    InterruptedExecutionError,
    InvalidArgumentError,
    NotFoundError,
    NotSupportedError,
)
from etlab.exir.stages import StageListener, listen


def test_run_keeps_every_stage(plain, quantized):
    assert list(plain.stages) == ["eager", "aten", "edge", "delegated", "program"]
    assert list(quantized.stages) == [
        "eager", "aten", "quantized", "edge", "delegated", "program",
    ]  # fmt: skip
    assert {"export", "decompose", "edge passes", "memory plan", "emit"} <= set(plain.seconds)
    assert "quantize" in quantized.seconds
    assert all(seconds >= 0 for seconds in quantized.seconds.values())


def test_text_of_a_run_is_one_line_and_the_same_every_time(classifier, picture, plain):
    again = etlab.export(classifier, (picture,))
    assert repr(again) == repr(plain)
    assert repr(plain).startswith("ExportRun(Classifier: partitioner none, quantizer none, ")
    assert "\n" not in repr(plain)
    assert again._repr_html_() == plain._repr_html_()


def test_card_is_static_and_shows_every_stage(quantized):
    page = quantized._repr_html_()
    for stage in quantized.stages:
        assert f">{stage}<" in page
    assert "<script" not in page
    assert "<style" not in page
    assert f"{len(quantized.file.data):,} bytes" in page


def test_export_does_not_change_the_model(classifier, picture):
    before = copy.deepcopy(classifier.state_dict())
    structure = repr(classifier)
    for quantizer in (None, "int8-weights", "fp16"):
        etlab.export(classifier, (picture,), quantizer=quantizer)
    assert repr(classifier) == structure
    for name, value in classifier.state_dict().items():
        assert torch.equal(value, before[name]), name


def test_int8_weights_make_a_smaller_program(plain, quantized):
    assert len(quantized.file.data) < len(plain.file.data)
    kinds = quantized.graph("quantized").operators
    assert kinds["quantized_decomposed::dequantize_per_channel"] == 2


def test_fp16_halves_the_constants(classifier, picture, plain):
    half = etlab.export(classifier, (picture,), quantizer="fp16")
    constants = half.size().by_kind["constant"]
    assert constants == pytest.approx(plain.size().by_kind["constant"] / 2, rel=0.01)


def test_size_report_adds_up_to_the_file(plain):
    report = plain.size()
    assert sum(entry.nbytes for entry in report.entries) == len(plain.file.data) == report.total
    names = {entry.name for entry in report.entries}
    assert "head.weight" in names


def test_graph_tables_describe_a_stage(plain):
    graph = plain.graph("aten")
    frame = graph.to_dataframe()
    row = frame[frame.operator == "linear"].iloc[0]
    assert (row["module"], row["shape"], row["dtype"]) == ("head", (1, 5), "float32")
    assert row.source.startswith("conftest.py:")
    assert all(source < target for source, target in graph.edges)
    assert graph.modules[""] == sum(graph.operators.values())
    assert plain.graph("eager").operators["Linear"] == 1
    with pytest.raises(NotFoundError, match="delegated"):
        plain.graph("nothing")


def test_delegation_of_a_plain_run_names_a_reason_for_every_call(plain):
    report = plain.delegation()
    assert report.parts == ()
    assert report.coverage == 0.0
    assert len(report.rejected) == sum(plain.graph("delegated").operators.values())
    assert all(one.reason for one in report.rejected)
    assert len(report.to_dataframe()) == len(report.rejected)


def test_saved_file_loads_again(plain, tmp_path):
    path = plain.save(tmp_path / "model.pte")
    assert path.read_bytes() == plain.file.data
    assert etlab.load(path).methods == ["forward"]


def test_model_that_cannot_be_exported_says_why(picture):
    class Refuses(nn.Module):
        def forward(self, x):
            return x if x.sum() > 0 else -x

    with pytest.raises(ExportError, match=r"torch\.export refused Refuses") as caught:
        etlab.export(Refuses(), (picture,))
    assert caught.value.__cause__ is not None
    with pytest.raises(InvalidArgumentError, match=r"got function; wrap a function in a module"):
        etlab.export(lambda x: x, (picture,))


@pytest.mark.parametrize("samples", [[3], [(3,)], [(torch.ones(1),)]])
def test_calibration_that_the_model_does_not_take_is_refused_in_words(classifier, picture, samples):
    with pytest.raises(InvalidArgumentError, match=r"calibration sample 0: .* 0.*: expected "):
        etlab.export(classifier, picture, quantizer="int8-weights", calibration=samples)


def test_training_mode_is_noted(picture):
    with pytest.warns(UserWarning, match="dropout in training mode, and a native run will refuse"):
        run = etlab.export(nn.Sequential(nn.Flatten(), nn.Dropout(0.5)).train(), (picture,))
    with pytest.raises(NotSupportedError, match=r"model\.eval\(\)"):
        run.run(picture)
    assert "training mode" in run.notes[0]
    assert "training mode" in run._repr_html_()


def test_stop_request_ends_an_export_between_stages(classifier, picture):
    seen = []
    listener = StageListener(seen.append, lambda: len(seen) >= 2)
    with listen(listener), pytest.raises(InterruptedExecutionError, match="stopped before stage"):
        etlab.export(classifier, (picture,))
    assert len(seen) == 2


def test_listener_of_the_caller_hears_every_stage(classifier, picture):
    seen = []
    with listen(StageListener(seen.append)):
        run = etlab.export(classifier, (picture,))
    assert list(dict.fromkeys(seen)) == list(run.seconds)


@pytest.mark.parametrize("open_door", [etlab.export, etlab.Workbench])
@pytest.mark.parametrize(
    ("model", "inputs", "message"),
    [
        (3, torch.ones(2), "expected a torch.nn.Module as the model, got int 3; wrap a function"),
        (nn.ReLU, torch.ones(2), r"got the class ReLU itself; make one: ReLU\("),
        (nn.ReLU(), None, r"expected example inputs .* got None; give \(\) for a model without"),
    ],
)
def test_every_door_says_what_it_takes(open_door, model, inputs, message):
    with pytest.raises(InvalidArgumentError, match=message):
        open_door(model, inputs)


def test_a_stage_that_is_not_there_is_answered_with_those_that_are(plain):
    with pytest.raises(NotFoundError, match="no stage 'zz' in this run: choose from eager, aten"):
        plain.stages["zz"]
    with pytest.raises(NotFoundError, match="export with a quantizer"):
        plain.stages["quantized"]
