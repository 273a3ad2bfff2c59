"""Trained models keep on labelled data what they could, with scales that were measured on other."""

import copy

import pytest
import torch

import etlab
from etlab.errors import NotFoundError
from etlab.models import silero_vad, speech


@pytest.mark.parametrize("measured_on", [0, 1], ids=["first half", "second half"])
def test_int8_hears_speech_as_float_does_in_the_half_that_it_was_not_measured_on(measured_on):
    try:
        model, (chunks, is_speech) = silero_vad.load(), speech.chunks(silero_vad.CHUNK)
    except NotFoundError as error:
        pytest.skip(str(error))
    half = len(chunks) // 2
    halves = slice(0, half), slice(half, len(chunks))
    run = etlab.export(
        model,
        (chunks[0],),
        quantizer="int8",
        calibration=[(chunk,) for chunk in chunks[halves[measured_on]]],
        partitioner="xnnpack",
    )
    method = etlab.runtime.Runtime.get().load_program(run.file.data).load_method("forward")
    paths = {"float": copy.deepcopy(model), "int8": lambda chunk: method.execute([chunk])[0]}
    right = {}
    for name, hear in paths.items():  # both remember, from the first chunk to the last
        heard = torch.stack([hear(chunk).reshape(()) > 0.5 for chunk in chunks])
        scored = halves[1 - measured_on]
        right[name] = float((heard == is_speech)[scored].float().mean())
    assert right["float"] > 0.98
    assert right["int8"] > right["float"] - 0.01
