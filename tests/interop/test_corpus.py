"""Every supported operator, in each of its dtypes: our programs in both runtimes, against eager.

By default one ordinary call for each operator and three dtypes; `ETLAB_FULL=1` (as
`make check-all` sets it) takes one for each combination of dtypes in the official runtime, and
every case of the kernel tests in ours.
"""

import os

import pytest
import torch
from interop.corpus import CASES, Sample, is_in_corpus, samples
from interop.official import run_official
from interop.official_defects import DEFECTS, OFFICIAL_TOLERANCES, defect_of

from etlab.exir import official_operators
from etlab.numerics.official import OfficialRuntimeError
from etlab.testing import assert_same

COMPLETE = bool(os.environ.get("ETLAB_FULL"))
OPERATORS = [name for name in CASES if is_in_corpus(name)]
COMMON = (torch.float32, torch.int64, torch.bool)

# Official kernels that no case stands for, with what covers them instead.
WITHOUT_CASES = {
    "aten::rand.out": "random",
    "aten::randn.out": "random",
    "aten::native_dropout.out": "random",
    "aten::empty.out": "no defined values",
    "aten::_local_scalar_dense": "test_our_programs",
    "aten::sym_size.int": "test_our_programs",
    "aten::sym_numel": "test_our_programs",
    "aten::_fft_c2r.out": "complex; the kernel tests have no case",
    "aten::_fft_r2c.out": "complex; the kernel tests have no case",
    "aten::view_as_real_copy.out": "complex; the kernel tests have no case",
    "et_copy::_h2d_copy.out": "no device here",
    "et_copy::_d2h_copy.out": "no device here",
}


def _samples(name: str, *, complete: bool = False) -> list[Sample]:
    found = list(samples(name, complete=complete and COMPLETE))
    if COMPLETE:
        return found
    common = [s for s in found if not s.dtypes or s.dtypes[0] in COMMON]
    by_dtype = {sample.dtypes[:1]: sample for sample in reversed(common or found[:1])}
    return list(by_dtype.values())


def _compare(actual: list[torch.Tensor], sample: Sample, tolerances: dict | None = None) -> None:  # type: ignore[type-arg]
    assert len(actual) == len(sample.expected), sample.text
    for index, (got, want) in enumerate(zip(actual, sample.expected, strict=True)):
        if tolerances and want.dtype in tolerances:
            tolerance = tolerances[want.dtype]
            assert (got.dtype, got.shape) == (want.dtype, want.shape), sample.text
            torch.testing.assert_close(
                got, want, rtol=tolerance, atol=tolerance, equal_nan=True, msg=sample.text
            )
        else:
            assert_same(got, want, f"{sample.text} output {index}")


@pytest.mark.parametrize("name", OPERATORS)
def test_our_program_runs_in_the_official_runtime(name: str) -> None:
    for sample in _samples(name):
        reason = defect_of(sample)
        try:
            actual = run_official(sample.program, sample.inputs)
            _compare(actual, sample, OFFICIAL_TOLERANCES)
        except (OfficialRuntimeError, AssertionError) as error:
            if reason is None:
                raise AssertionError(f"{sample.text}: {error}") from error


@pytest.mark.parametrize("name", OPERATORS)
def test_our_program_runs_in_our_runtime(name: str) -> None:
    from etlab.runtime import Runtime

    for sample in _samples(name, complete=True):
        method = Runtime.get().load_program(sample.program).load_method("forward")
        assert method is not None
        _compare(method.execute(sample.inputs), sample)


def test_every_official_operator_has_a_case_or_a_reason() -> None:
    aten = {name for name in official_operators.DEFAULT if "executorch_prim" not in name}
    missing = sorted(aten - set(CASES) - set(WITHOUT_CASES))
    assert not missing, f"no interop sample: {missing}"


@pytest.mark.skipif(not COMPLETE, reason="needs ETLAB_FULL=1: all combinations of dtypes")
def test_no_listed_defect_is_out_of_date() -> None:
    for (name, dtypes), reason in DEFECTS.items():
        wrong = 0
        for sample in _samples(name):
            if dtypes is None or sample.dtypes == dtypes:
                try:
                    actual = run_official(sample.program, sample.inputs)
                    _compare(actual, sample, OFFICIAL_TOLERANCES)
                except (OfficialRuntimeError, AssertionError):
                    wrong += 1
        assert wrong, f"{name} {dtypes} agrees now; remove its entry ({reason})"
