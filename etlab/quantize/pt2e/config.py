"""Configurations: how activations and weights become 8-bit integers."""

import dataclasses
import functools
from typing import Any

import torch

from etlab.quantize.base import quiet_imports
from etlab.quantize.pt2e.observers import activation_observer, weight_observer

with quiet_imports():
    from torchao.quantization.pt2e import (
        FakeQuantize,
        FusedMovingAvgObsFakeQuantize,
        MovingAverageMinMaxObserver,
        MovingAveragePerChannelMinMaxObserver,
        PlaceholderObserver,
    )
    from torchao.quantization.pt2e.quantizer import QuantizationSpec
    from torchao.quantization.pt2e.quantizer.utils import QuantizationConfig

__all__ = ["QuantizationConfig", "get_symmetric_quantization_config", "with_channels"]

_ACTIVATION_EPS = 2.0**-12
# Folded batch norms leave channels whose weights are tiny but not zero: a coarser step loses them.
_WEIGHT_EPS = 2.0**-20


@functools.lru_cache
def get_symmetric_quantization_config(
    is_per_channel: bool = False,
    is_qat: bool = False,
    is_dynamic: bool = False,
    act_qmin: int = -128,
    act_qmax: int = 127,
    weight_qmin: int = -127,
    weight_qmax: int = 127,
    *,
    activations: str = "histogram",
    weights: str = "min-max",
    percentile: float | None = None,
) -> QuantizationConfig:
    """8-bit integers: activations with a zero point, weights symmetric, biases in float.

    Args:
        is_per_channel: weights have a scale for every output channel.
        is_qat: observers that quantize while the model is trained.
        is_dynamic: scales of activations are chosen at run time.
        act_qmin: the smallest integer of activations.
        act_qmax: the largest.
        weight_qmin: the smallest integer of weights; -8 for 4 bits.
        weight_qmax: the largest; 7 for 4 bits.
        activations: name of the observer of activations: "min-max", "moving-average",
            "histogram", "percentile", "mse".
        weights: name of the observer of weights: "min-max", "mse".
        percentile: what the percentile observer keeps, in percent.

    Raises:
        NotFoundError: no observer has that name.
    """
    activation = QuantizationSpec(
        dtype=torch.int8,
        quant_min=act_qmin,
        quant_max=act_qmax,
        qscheme=torch.per_tensor_affine,
        is_dynamic=is_dynamic,
        observer_or_fake_quant_ctr=_activation_maker(activations, percentile, is_qat, is_dynamic),
    )
    scheme = torch.per_channel_symmetric if is_per_channel else torch.per_tensor_symmetric
    weight = QuantizationSpec(
        dtype=torch.int8,
        quant_min=weight_qmin,
        quant_max=weight_qmax,
        qscheme=scheme,
        ch_axis=0,
        observer_or_fake_quant_ctr=_weight_maker(weights, is_per_channel, is_qat),
    )
    return QuantizationConfig(activation, None if is_dynamic else activation, weight, None, is_qat)


def _activation_maker(name: str, percentile: float | None, is_qat: bool, is_dynamic: bool) -> Any:
    kind = activation_observer(name)
    if is_dynamic and is_qat:
        observer = MovingAverageMinMaxObserver.with_args(averaging_constant=1)
        return FakeQuantize.with_args(observer=observer, eps=_ACTIVATION_EPS)
    if is_dynamic:
        return PlaceholderObserver.with_args(eps=_ACTIVATION_EPS)
    if is_qat:
        return FusedMovingAvgObsFakeQuantize.with_args(eps=_ACTIVATION_EPS)
    options = {} if percentile is None else {"percentile": percentile}
    return kind.with_args(eps=_ACTIVATION_EPS, **options)


def _weight_maker(name: str, is_per_channel: bool, is_qat: bool) -> Any:
    kind = weight_observer(name, is_per_channel=is_per_channel)
    if not is_qat:
        return kind.with_args(eps=_WEIGHT_EPS)
    observer = MovingAverageMinMaxObserver
    if is_per_channel:
        observer = MovingAveragePerChannelMinMaxObserver
    return FusedMovingAvgObsFakeQuantize.with_args(observer=observer, eps=_WEIGHT_EPS)


def with_channels(spec: QuantizationSpec, axis: int | None) -> QuantizationSpec:
    """A weight's spec with its channels along another axis; None: one scale for all of it."""
    if spec.qscheme is not torch.per_channel_symmetric:
        return spec
    maker = spec.observer_or_fake_quant_ctr
    is_qat = hasattr(maker, "p") and maker.p.func is FusedMovingAvgObsFakeQuantize
    if axis and is_qat:  # the fused one knows axis 0 only
        observer = MovingAveragePerChannelMinMaxObserver
        maker = FakeQuantize.with_args(observer=observer, ch_axis=axis, eps=_WEIGHT_EPS)
    if axis is not None:
        return dataclasses.replace(spec, ch_axis=axis, observer_or_fake_quant_ctr=maker)
    return dataclasses.replace(
        spec,
        qscheme=torch.per_tensor_symmetric,
        observer_or_fake_quant_ctr=_weight_maker("min-max", False, is_qat),
    )
