"""The models of the speed benchmarks: fixed configurations, seeds and inputs.

Speed does not depend on trained weights, so most have random ones; batch-norm statistics are
settled on random pictures, for activations of an ordinary scale. Every builder returns the module
in eval mode and its example inputs.
"""

from collections.abc import Callable
from typing import Any

import torch
from torch import nn

Model = tuple[nn.Module, tuple[torch.Tensor, ...]]


class PlainOutput(nn.Module):
    """A transformers model whose forward takes and returns plain tensors."""

    def __init__(self, model: nn.Module, names: tuple[str, ...], field: str):
        super().__init__()
        self.model, self.names, self.field = model, names, field

    def forward(self, *inputs: torch.Tensor) -> Any:
        named = dict(zip(self.names, inputs, strict=True))
        return getattr(self.model(**named, return_dict=True), self.field)


def _vision(model: nn.Module) -> Model:
    """Settle the batch norms of a picture classifier and wrap it."""
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            module.reset_running_stats()
            module.momentum = None
    model.train()
    with torch.no_grad():
        for _ in range(3):
            model(pixel_values=torch.randn(4, 3, 224, 224))
    wrapped = PlainOutput(model.eval(), ("pixel_values",), "logits")
    return wrapped.eval(), (torch.randn(1, 3, 224, 224),)


def mobilenet_v2() -> Model:
    from transformers import MobileNetV2Config, MobileNetV2ForImageClassification

    config = MobileNetV2Config(num_labels=1000, tf_padding=False)
    return _vision(MobileNetV2ForImageClassification(config))


def resnet18() -> Model:
    from transformers import ResNetConfig, ResNetForImageClassification

    config = ResNetConfig(
        embedding_size=64,
        hidden_sizes=[64, 128, 256, 512],
        depths=[2, 2, 2, 2],
        layer_type="basic",
        num_labels=1000,
    )
    return _vision(ResNetForImageClassification(config))


def vit_tiny() -> Model:
    from transformers import ViTConfig, ViTForImageClassification

    config = ViTConfig(
        hidden_size=192,
        num_hidden_layers=12,
        num_attention_heads=3,
        intermediate_size=768,
        num_labels=1000,
        attn_implementation="sdpa",
    )
    model = PlainOutput(ViTForImageClassification(config).eval(), ("pixel_values",), "logits")
    return model.eval(), (torch.randn(1, 3, 224, 224),)


def bert6() -> Model:
    from transformers import BertConfig, BertModel

    config = BertConfig(
        hidden_size=384,
        num_hidden_layers=6,
        num_attention_heads=12,
        intermediate_size=1536,
        attn_implementation="sdpa",
    )
    names = ("input_ids", "attention_mask")
    model = PlainOutput(BertModel(config).eval(), names, "last_hidden_state")
    inputs = (torch.randint(0, 30000, (1, 128)), torch.ones(1, 128, dtype=torch.long))
    return model.eval(), inputs


def smollm2() -> Model:
    from etlab.models.smollm2 import load

    return load(layers=4, longest=128), (torch.randint(0, 49152, (1, 128)),)


def silero_vad() -> Model:
    from etlab.models.silero_vad import CHUNK, load

    return load(), (torch.randn(1, CHUNK),)


def efficientnet_lite0() -> Model:
    from etlab.models.efficientnet_lite0 import load

    return load(), (torch.randn(1, 3, 224, 224),)


MODELS: dict[str, Callable[[], Model]] = {
    "efficientnet_lite0": efficientnet_lite0,
    "bert6": bert6,
    "vit_tiny": vit_tiny,
    "mobilenet_v2": mobilenet_v2,
    "resnet18": resnet18,
    "smollm2": smollm2,
    "silero_vad": silero_vad,
}
