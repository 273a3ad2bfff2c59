import math

import pytest
import torch

from etlab.devtools.inspector import compare_results
from etlab.errors import InvalidArgumentError

WANTED = torch.tensor([3.0, -4.0])


def test_outputs_are_compared_one_by_one(capsys):
    found = compare_results([WANTED, 1], [WANTED + torch.tensor([0.5, -0.5]), 1])
    assert found["mse"] == [0.25, 0.0]
    assert found["snr"][0] == pytest.approx(10 * math.log10(12.5 / 0.25))
    assert found["snr"][1] == math.inf
    wanted = float(torch.cosine_similarity(WANTED, torch.tensor([3.5, -4.5]), dim=0))
    assert found["cosine_similarity"] == [pytest.approx(wanted), 1.0]
    printed = capsys.readouterr().out
    assert "cosine_similarity" in printed
    assert "0.25" in printed


def test_lists_are_compared_by_their_mean():
    found = compare_results([[WANTED, WANTED]], [[WANTED, WANTED + 2]], metrics=["mse"])
    assert found == {"mse": [2.0]}


def test_equal_nans_agree_and_others_do_not():
    broken = torch.tensor([math.nan, 1.0])
    assert compare_results([broken], [broken], ["mse"]) == {"mse": [0.0]}
    assert math.isnan(compare_results([WANTED], [broken], ["mse"])["mse"][0])


def test_a_picture_is_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    compare_results([WANTED], [WANTED + 1], ["snr"], plot=True)
    assert (tmp_path / "snr_output_plot.png").read_bytes()[1:4] == b"PNG"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (([WANTED], [WANTED], ["rms"]), "no metric 'rms'; choose from snr, mse"),
        (([WANTED], [WANTED, WANTED]), "1 outputs are given as reference, and 2 came"),
        (([WANTED], [WANTED[:1]]), r"output 0 has sizes \[\(1,\)\], the reference \[\(2,\)\]"),
    ],
)
def test_what_cannot_be_compared_is_refused(arguments, message):
    with pytest.raises(InvalidArgumentError, match=message):
        compare_results(*arguments)
