"""Random operators: what can be said of numbers that nobody knows."""

import pytest
import torch

from etlab.errors import EtlabError
from etlab.testing import run_kernel

COUNT = 20_000


def draw(name: str, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    out = torch.full((4, COUNT // 4), float("nan"), dtype=dtype)
    run_kernel(name, [4, COUNT // 4], outputs=[out])
    return out.flatten()


def test_uniform_numbers_fill_the_unit_interval_evenly() -> None:
    values = draw("aten::rand.out")
    assert 0 <= float(values.min()) < 0.01
    assert 0.99 < float(values.max()) < 1
    counts = torch.histc(values, bins=10, min=0, max=1)
    assert (counts - COUNT / 10).abs().max() < 5 * (COUNT / 10) ** 0.5


def test_normal_numbers_have_mean_zero_and_deviation_one() -> None:
    values = draw("aten::randn.out")
    assert abs(float(values.mean())) < 5 / COUNT**0.5
    assert abs(float(values.std()) - 1) < 5 / COUNT**0.5
    assert 0.66 < float((values.abs() < 1).float().mean()) < 0.71


def test_neighbouring_numbers_do_not_depend_on_each_other() -> None:
    values = draw("aten::rand.out") - 0.5
    correlation = float((values[1:] * values[:-1]).mean()) * 12
    assert abs(correlation) < 5 / COUNT**0.5


def test_every_call_draws_new_numbers() -> None:
    assert not torch.equal(draw("aten::rand.out"), draw("aten::rand.out"))


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16, torch.float64])
def test_other_float_dtypes_are_filled_too(dtype: torch.dtype) -> None:
    values = draw("aten::rand.out", dtype)
    assert bool(values.isfinite().all())
    assert len(values.unique()) > 100


def test_integers_are_refused_in_words() -> None:
    with pytest.raises(EtlabError, match="expected a float output"):
        run_kernel("aten::rand.out", [3], outputs=[torch.empty(3, dtype=torch.int64)])
