"""Calibration takes whatever gives samples, says how far it is, and stops when asked."""

import pytest
import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

import etlab
from etlab.calibration import KEPT, Calibration
from etlab.errors import InterruptedExecutionError, InvalidArgumentError, NotFoundError
from etlab.exir.stages import StageListener, listen, parts


def _ramps(count, *shape):
    """Smooth data, no two samples the same."""
    size = torch.Size(shape).numel()
    return torch.stack([torch.linspace(-1, 1 + i, size).reshape(shape) for i in range(count)])


@pytest.fixture(scope="module")
def exported():
    return torch.export.export(nn.Linear(4, 3), (_ramps(2, 4),), strict=False)


def _samples(given, exported):
    return list(Calibration(given, exported, (_ramps(2, 4),)))


@pytest.mark.parametrize(
    "given",
    [
        _ramps(6, 4),
        (_ramps(6, 4),),
        [_ramps(2, 4), _ramps(2, 4), (_ramps(2, 4),)],
        [[_ramps(6, 4), torch.arange(6)]],
        (sample for sample in [_ramps(2, 4)] * 3),
        DataLoader(TensorDataset(_ramps(6, 4), torch.arange(6)), batch_size=2),
        DataLoader(TensorDataset(_ramps(7, 4), torch.arange(7)), batch_size=7),
    ],
)
def test_every_kind_of_data_gives_batches_of_the_exported_size(exported, given):
    samples = _samples(given, exported)
    assert [tuple(sample[0].shape) for sample in samples] == [(2, 4)] * 3
    assert all(len(sample) == 1 for sample in samples)


def test_a_free_batch_is_not_cut():
    exported = torch.export.export(
        nn.Linear(4, 3), (_ramps(2, 4),), dynamic_shapes=({0: torch.export.Dim.DYNAMIC},)
    )
    assert [len(sample[0]) for sample in _samples(_ramps(6, 4), exported)] == [6]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ([], "it holds no sample"),
        ({"x": 1}, "expected a tensor, a tuple of arguments, or an iterable"),
        ([_ramps(1, 4)], "sample 0: expected batches of 2 as at export, got 1"),
        ([_ramps(2, 4), _ramps(2, 4) / 0 * 0], "sample 1: it holds NaN"),
        ([_ramps(2, 4), 3], "sample 1: input 0 .* expected a Tensor, got int 3"),
    ],
)
def test_data_that_cannot_serve_is_refused_in_words(exported, given, message):
    with pytest.raises(InvalidArgumentError, match=message):
        _samples(given, exported)


def test_a_generator_is_read_once_and_its_first_samples_are_kept(exported):
    read = []

    def endless():
        while True:
            read.append(0)
            yield _ramps(2, 4)

    data = Calibration(endless(), exported, (_ramps(2, 4),))
    assert len(data.samples()) == KEPT == len(read)
    assert len(list(data)) == KEPT == len(read)


def test_doubtful_data_is_named(exported):
    def doubts(given):
        data = Calibration(given, exported, (_ramps(2, 4),))
        list(data)
        return " ".join(data.doubts())

    assert doubts(list(_ramps(3, 2, 4))) == ""
    assert "example inputs only" in doubts(None)
    assert "single sample" in doubts(_ramps(2, 4))
    assert "constant" in doubts([torch.ones(2, 4)] * 2)
    wide = torch.export.export(nn.Linear(512, 3), (torch.ones(2, 512),), strict=False)
    noise = Calibration([torch.randn(2, 512)] * 2, wide, (torch.ones(2, 512),))
    list(noise)
    assert "random noise" in " ".join(noise.doubts())


def test_parts_are_announced_and_a_stop_is_honoured_between_them():
    heard = []
    listener = StageListener(
        on_part=lambda *part: heard.append(part), should_stop=lambda: len(heard) == 2
    )
    with listen(listener), pytest.raises(InterruptedExecutionError, match="after 2 parts"):
        list(parts("calibrate", range(5), 5))
    assert heard == [("calibrate", 0, 5), ("calibrate", 1, 5)]


def _quantized(calibration):
    return etlab.export(nn.Linear(4, 3), _ramps(2, 4), quantizer="int8", calibration=calibration)


def test_a_generator_calibrates_a_quantizer():
    run = _quantized(_ramps(2, 4) * scale for scale in (1, 2, 3))
    assert len(run.calibration) == 3


def test_values_without_a_range_are_told_by_the_sample_that_makes_them():
    with pytest.raises(InvalidArgumentError, match=r"sample 1: .*infinite or NaN"):
        _quantized([_ramps(2, 4), torch.full((2, 4), torch.inf)])


@pytest.mark.parametrize("quantizer", ["int8:keep_float=haed", "8da4w:keep_float=haed"])
def test_a_module_to_keep_that_the_model_lacks_is_refused(quantizer):
    model = nn.Sequential()
    model.add_module("head", nn.Linear(4, 3))
    with pytest.raises(NotFoundError, match="no module haed; it has head"):
        etlab.export(model.eval(), _ramps(2, 4), quantizer=quantizer)


@pytest.mark.parametrize("steps", [0, -1, "many"])
def test_steps_are_samples(steps):
    with pytest.raises(InvalidArgumentError, match="steps: expected 1 sample or more"):
        etlab.export(nn.Linear(4, 3).eval(), _ramps(2, 4), quantizer=f"int8:steps={steps}")


def test_a_quantizer_that_finds_nothing_is_noted():
    run = etlab.export(nn.ReLU().eval(), _ramps(2, 4), quantizer="8da4w")
    assert run.notes == ("quantizer '8da4w' found nothing to quantize",)
    assert not etlab.export(nn.Linear(4, 3).eval(), _ramps(2, 4), quantizer="8da4w").notes
