"""Conversion: constants as integers, biases as the device has them, and what cannot be refused."""

import pytest
import torch
from torch import nn

from etlab.backends.xnnpack import XNNPACKQuantizer, get_symmetric_quantization_config
from etlab.errors import LoweringError
from etlab.quantize.pt2e.flow import convert_pt2e, prepare_pt2e

X = torch.linspace(-1, 2, 12).reshape(3, 4)


def _converted(model, sample=X, **options):
    module = torch.export.export(model.eval(), (sample,), strict=False).module()
    config = get_symmetric_quantization_config(**options)
    prepared = prepare_pt2e(module, XNNPACKQuantizer().set_global(config))
    prepared(sample)
    return convert_pt2e(prepared)


@pytest.mark.parametrize("is_per_channel", [False, True])
def test_biases_are_whole_steps_of_input_and_weight(is_per_channel):
    torch.manual_seed(0)
    layer = nn.Linear(4, 3)
    with torch.no_grad():
        layer.weight[1] = 0
        layer.bias[1] = 50.0
    converted = _converted(layer, is_per_channel=is_per_channel)
    node = next(n for n in converted.graph.nodes if n.target is torch.ops.aten.linear.default)
    source, weight, bias = node.args
    scale = weight.args[1]
    scale = getattr(converted, scale.target) if is_per_channel else torch.tensor(scale)
    steps = getattr(converted, bias.target).double() / (source.args[1] * scale.double())
    torch.testing.assert_close(steps, steps.round(), rtol=1e-6, atol=1e-3)
    assert steps.abs().max() <= 2**30 * 1.001
    assert (converted(X) - layer(X)).abs().max() < 50 / 255


def test_weights_are_stored_once_as_integers_under_their_names():
    converted = _converted(nn.Sequential(nn.Linear(4, 3), nn.ReLU()), is_per_channel=True)
    kinds = {name: value.dtype for name, value in converted.state_dict().items()}
    assert [name for name, kind in kinds.items() if kind is torch.int8] == ["0_weight_int"]
    assert "0.weight" not in kinds
    assert not [n for n in converted.graph.nodes if n.op == "call_module" and "guard" not in n.name]


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_samples_that_no_integer_stands_for_are_refused(value):
    sample = X.clone()
    sample[0, 0] = value
    with pytest.raises(LoweringError, match="infinite or not numbers"):
        _converted(nn.Linear(4, 3), sample, activations="min-max")


@pytest.mark.parametrize(
    "observer", ["min-max", "moving-average", "histogram", "percentile", "mse"]
)
@pytest.mark.parametrize("weights", ["min-max", "mse"])
def test_every_observer_finds_scales(observer, weights):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 3), nn.Tanh(), nn.Linear(3, 2))
    options = {"activations": observer, "weights": weights, "is_per_channel": True}
    assert (_converted(model, **options)(X) - model(X)).abs().max() < 0.1


def test_outliers_widen_the_ranges_of_percentiles_and_of_least_error_less():
    sample = torch.randn(4000, 4, generator=torch.Generator().manual_seed(0))
    sample[0, 0] = 30.0

    def scale(observer, **options):
        converted = _converted(nn.Linear(4, 3), sample, activations=observer, **options)
        named = [n for n in converted.graph.nodes if "quantize_per_tensor" in str(n.target)]
        return next(n for n in named if "dequantize" not in str(n.target)).args[1]

    assert scale("percentile") < scale("min-max") / 3
    four_bits = {"act_qmin": -8, "act_qmax": 7}
    assert scale("mse", **four_bits) < 0.8 * scale("min-max", **four_bits)
