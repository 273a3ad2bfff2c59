"""A trained model as a whole: its integers on TOSA's reference model see what floats see."""

import pytest
from tosa_checks import check_against_reference_model, delegates

import etlab
from etlab.errors import NotFoundError
from etlab.models import efficientnet_lite0, photographs

pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")

PICTURES = ("chelsea", "coffee", "rocket", "flower", "china", "astronaut")


def test_efficientnet_sees_on_the_reference_model_what_floats_see():
    try:
        model = efficientnet_lite0.load()
        data = [(crop[None],) for crop in photographs.crops(8)]
        pictures = [efficientnet_lite0.preprocess(photographs.photograph(n)) for n in PICTURES]
    except NotFoundError as error:
        pytest.skip(str(error))
    run = etlab.export(
        model, pictures[0], quantizer="int8-arm", calibration=data, partitioner="tosa"
    )
    (delegate,) = delegates(run)  # all of it
    assert run.delegation().coverage > 0.99
    assert [int(run.run(one).argmax()) for one in pictures] == [
        int(model(one).argmax()) for one in pictures
    ]
    check_against_reference_model(delegate.processed_bytes, rounds=1)
