"""Half a minute of labelled speech: two people talk, after almost seven seconds of silence.

Package pyannote.audio (MIT): a recording and when somebody speaks in it.
"""

import math
import wave

import numpy as np
import torch

from etlab.models.packages import package_file

PACKAGES = ("pyannote.audio",)

SAMPLE_RATE = 16000
_FOLDER = "pyannote/audio/sample"


def recording() -> torch.Tensor:
    """The samples, (480000,) float32 from -1 to 1, of 16 kHz.

    Raises:
        NotFoundError: the package is not installed.
    """
    with wave.open(str(package_file(PACKAGES[0], f"{_FOLDER}/sample.wav"))) as file:
        content = file.readframes(file.getnframes())
    return torch.from_numpy(np.frombuffer(content, dtype="<i2").astype(np.float32)) / 2**15


def turns() -> list[tuple[float, float]]:
    """When somebody begins and ends to speak, in seconds.

    Raises:
        NotFoundError: the package is not installed.
    """
    lines = package_file(PACKAGES[0], f"{_FOLDER}/sample.rttm").read_text().splitlines()
    fields = [line.split() for line in lines]  # SPEAKER file channel start length ...
    return [(float(f[3]), float(f[3]) + float(f[4])) for f in fields]


def chunks(size: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The recording in pieces, and whether somebody speaks in each.

    Args:
        size: samples of a piece.

    Returns:
        (pieces, 1, size) float32, and (pieces,) bool.

    Raises:
        NotFoundError: the package is not installed.
    """
    whole = recording()
    pieces = whole[: len(whole) // size * size].view(-1, 1, size)
    is_speech = torch.zeros(len(pieces), dtype=torch.bool)
    for begin, end in turns():
        first, last = begin * SAMPLE_RATE / size, end * SAMPLE_RATE / size
        is_speech[int(first) : math.ceil(last)] = True
    return pieces, is_speech
