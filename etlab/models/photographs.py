"""Real photographs from scikit-image and scikit-learn, for calibration and comparisons."""

import numpy as np
import torch

from etlab.errors import NotFoundError
from etlab.models.packages import package_file

_SCIKIT_IMAGE = """
astronaut.png chelsea.png coffee.png rocket.jpg motorcycle_left.png motorcycle_right.png ihc.png
retina.jpg hubble_deep_field.jpg camera.png coins.png brick.png grass.png gravel.png page.png
moon.png clock_motion.png
"""
_PHOTOGRAPHS = {
    **{
        file.split(".")[0]: ("scikit-image", f"skimage/data/{file}")
        for file in _SCIKIT_IMAGE.split()
    },
    "china": ("scikit-learn", "sklearn/datasets/images/china.jpg"),
    "flower": ("scikit-learn", "sklearn/datasets/images/flower.jpg"),
}
PACKAGES = tuple(sorted({package for package, _ in _PHOTOGRAPHS.values()}))


def names() -> list[str]:
    """The photographs that `photograph` knows."""
    return list(_PHOTOGRAPHS)


def photograph(name: str) -> np.ndarray:
    """One photograph, (height, width, 3) uint8; "chelsea" is scikit-image's cat.

    Raises:
        NotFoundError: no such photograph, or its package is not installed.
    """
    from PIL import Image

    if name not in _PHOTOGRAPHS:
        raise NotFoundError(f"no photograph {name!r}; there are: {', '.join(_PHOTOGRAPHS)}")
    return np.array(Image.open(package_file(*_PHOTOGRAPHS[name])).convert("RGB"))


def crops(count: int = 64, size: int = 224, seed: int = 0) -> torch.Tensor:
    """Random square crops of all photographs, normalised for EfficientNet-Lite0.

    Returns:
        (count, 3, size, size) float32; unlabelled, for calibration and agreement.
    """
    from PIL import Image

    generator = np.random.default_rng(seed)
    images = [Image.fromarray(photograph(name)) for name in _PHOTOGRAPHS]
    result = []
    for index in range(count):
        image = images[index % len(images)]
        side = int(min(image.size) * generator.uniform(0.45, 1.0))
        left = int(generator.integers(0, image.width - side + 1))
        top = int(generator.integers(0, image.height - side + 1))
        crop = image.crop((left, top, left + side, top + side))
        crop = crop.resize((size, size), Image.Resampling.BICUBIC)
        if generator.random() < 0.5:
            crop = crop.transpose(Image.Transpose.FLIP_LEFT_RIGHT)
        pixels = torch.from_numpy(np.array(crop)).permute(2, 0, 1).float()
        result.append((pixels - 127.0) / 128.0)
    return torch.stack(result)
