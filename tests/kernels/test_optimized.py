"""The optimized library: every instruction set of this processor, any number of threads."""

import importlib
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch

from etlab.errors import NotSupportedError
from etlab.runtime import _native
from etlab.testing import KernelOperator, check_kernel, native_arguments, run_kernel
from kernels import cases as case_files
from kernels.case import Case, make_tensor


def _fast_cases() -> dict[str, list[Case]]:
    """The cases that the optimized library has to serve itself, by operator."""
    found: dict[str, list[Case]] = {}
    for module in pkgutil.iter_modules(case_files.__path__):
        cases = importlib.import_module(f"{case_files.__name__}.{module.name}")
        for case in getattr(cases, "FAST_CASES", []):
            found.setdefault(case.operator_name, []).append(case)
    return found


FAST_CASES = _fast_cases()


@pytest.fixture(params=["generic", "neon", "avx2", "avx512"])
def instruction_set(request: pytest.FixtureRequest) -> Iterator[str]:
    try:
        _native.use_instruction_set(request.param)
    except NotSupportedError:
        pytest.skip(f"this processor has no {request.param}")
    yield request.param
    _native.use_instruction_set("best")


def _outputs(case: Case) -> list[torch.Tensor]:
    return [torch.empty(t.shape, dtype=t.dtype) for t in case.expected()]


@pytest.mark.parametrize("name", sorted(FAST_CASES))
def test_every_instruction_set_computes_what_eager_does(name: str, instruction_set: str) -> None:
    for case in FAST_CASES[name]:
        check_kernel(
            case.operator,
            *case.args,
            reference=case.reference,
            libraries=("optimized",),
            **case.kwargs,
        )


@pytest.mark.parametrize("name", sorted(FAST_CASES))
def test_the_optimized_kernel_takes_the_cases_written_for_it(name: str) -> None:
    operator = KernelOperator.resolve(FAST_CASES[name][0].operator)
    for case in FAST_CASES[name]:
        values = native_arguments(operator, case.args, case.kwargs, _outputs(case))
        assert _native.supports_optimized(name, values), f"left to the portable kernel: {case}"


@pytest.mark.parametrize("name", sorted(FAST_CASES))
def test_results_do_not_depend_on_the_number_of_threads(name: str) -> None:
    before = _native.thread_count()
    try:
        for case in FAST_CASES[name]:
            one, three = _outputs(case), _outputs(case)
            for threads, outputs in [(1, one), (3, three)]:
                _native.set_thread_count(threads)
                run_kernel(case.operator, *case.args, outputs=outputs, **case.kwargs)
            for left, right in zip(one, three, strict=True):
                assert torch.equal(left.nan_to_num(), right.nan_to_num()), str(case)
    finally:
        _native.set_thread_count(before)


@pytest.mark.parametrize(("rows", "depth", "columns"), [(1, 3, 1), (9, 2100, 130), (5, 0, 7)])
def test_weights_packed_beforehand_give_the_same_product(
    rows: int, depth: int, columns: int, instruction_set: str
) -> None:
    a, weight = make_tensor(rows, depth, low=-1, high=1), make_tensor(columns, depth, seed=1)
    out = torch.full((rows, columns), float("nan"))
    descriptions = [(t.data_ptr(), 6, list(t.shape), list(t.stride())) for t in (a, weight, out)]
    _native.multiply_packed(*descriptions)
    torch.testing.assert_close(out, a @ weight.t(), atol=1e-3, rtol=1e-4)


def test_callers_on_several_threads_share_one_pool() -> None:
    a, b = make_tensor(130, 70), make_tensor(70, 300)
    expected = a @ b
    before = _native.thread_count()

    def multiply(_: int) -> bool:
        out = torch.empty(130, 300)
        run_kernel("aten::mm.out", a, b, outputs=[out])
        return torch.allclose(out, expected, atol=1e-3)

    try:
        _native.set_thread_count(3)
        with ThreadPoolExecutor(max_workers=3) as callers:
            assert all(callers.map(multiply, range(60)))
    finally:
        _native.set_thread_count(before)


def _run_guarded(*options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "kernels.guarded", *options],
        cwd=Path(__file__).parent.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.skipif(sys.platform != "linux", reason="guard pages are set up with mprotect")
def test_no_kernel_touches_memory_beside_its_tensors() -> None:
    result = _run_guarded()
    lines = result.stdout.splitlines() or ["nothing"]
    assert result.returncode == 0, f"died in: {lines[-1]}\n{result.stderr}"
    assert lines[-1] == "done"


@pytest.mark.skipif(sys.platform != "linux", reason="guard pages are set up with mprotect")
def test_the_guard_pages_stop_a_write_beside_a_tensor() -> None:
    assert _run_guarded("--overrun").returncode < 0


def test_an_unknown_instruction_set_is_refused_in_words() -> None:
    with pytest.raises(Exception, match="expected avx512, avx2, neon, generic or best"):
        _native.use_instruction_set("mmx")
