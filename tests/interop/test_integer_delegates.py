"""Integer nodes of XNNPACK payloads: our runtime against ExecuTorch's, to the bit."""

import pytest
import torch
from interop.integer_payloads import DYNAMIC_KINDS, KINDS, Source
from interop.official import run_official


@pytest.mark.parametrize("kind", KINDS)
def test_integer_node_agrees_with_the_official_runtime_to_the_bit(kind):
    for seed in (1, 2):
        program = KINDS[kind](Source(seed))
        expected = run_official(program.pte(), program.inputs)
        for actual, wanted in zip(program.run(), expected, strict=True):
            assert torch.equal(actual, wanted), f"seed {seed}"


@pytest.mark.parametrize("kind", DYNAMIC_KINDS)
def test_rows_quantized_at_run_time_agree_with_the_official_runtime(kind):
    for seed in (1, 2, 3):
        program = DYNAMIC_KINDS[kind](Source(seed))
        (expected,) = run_official(program.pte(), program.inputs)
        (actual,) = program.run()
        largest = expected.abs().amax(-1, keepdim=True)
        assert ((actual - expected).abs() <= 1e-6 * largest).all(), f"seed {seed}"
