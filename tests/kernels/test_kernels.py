"""Runs the cases of every file in cases/ against eager, one test per operator and library."""

from collections.abc import Iterable, Sequence

import pytest
import torch

from etlab.runtime import _native
from etlab.testing import check_kernel, run_kernel
from kernels.case import Case, Refusal, collect

SHOWN_FAILURES = 8
# Points its output at the memory of its input: tests/runtime runs it in programs.
IN_PROGRAMS_ONLY = {"executorch_prim::et_view.default"}


CASES: dict[str, list[Case]] = collect("CASES")
REFUSALS: dict[str, list[Refusal]] = collect("REFUSALS")


def _with_library(names: Iterable[str]) -> list[tuple[str, str]]:
    """Each operator with "portable" and, where it has a kernel there, "optimized"."""
    optimized = [(name, "optimized") for name in names if _native.has_optimized_kernel(name)]
    return sorted([(name, "portable") for name in names] + optimized)


def _fail_with(failures: Sequence[str], count: int) -> None:
    if failures:
        shown = "\n\n".join(failures[:SHOWN_FAILURES])
        pytest.fail(f"{len(failures)} of {count} cases fail; the first:\n\n{shown}", pytrace=False)


@pytest.mark.parametrize(("name", "library"), _with_library(CASES))
def test_kernel_computes_what_eager_does(name: str, library: str) -> None:
    failures = []
    for case in CASES[name]:
        try:
            check_kernel(
                case.operator,
                *case.args,
                reference=case.reference,
                out_dtype=case.out_dtype,
                libraries=(library,),
                **case.kwargs,
            )
        except Exception as error:
            failures.append(f"{case}\n{type(error).__name__}: {error}")
    _fail_with(failures, len(CASES[name]))


@pytest.mark.parametrize(("name", "library"), _with_library(REFUSALS))
def test_kernel_refuses_in_words(name: str, library: str) -> None:
    for refusal in REFUSALS[name]:
        with pytest.raises(refusal.error, match=refusal.match):
            run_kernel(
                refusal.operator,
                *refusal.args,
                outputs=refusal.outputs,
                allow_optimized=library == "optimized",
                **refusal.kwargs,
            )


def test_every_kernel_has_a_case() -> None:
    missing = sorted(set(_native.operator_names()) - set(CASES) - IN_PROGRAMS_ONLY)
    assert not missing, f"kernels without a case in tests/kernels/cases: {missing}"


def test_check_kernel_notices_a_wrong_result() -> None:
    with pytest.raises(AssertionError, match=r"\[1\]: 2.0, not -2.0"):
        check_kernel("aten::relu.out", torch.tensor([-1.0, 2.0]), reference=torch.neg)
