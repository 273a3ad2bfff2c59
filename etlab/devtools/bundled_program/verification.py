"""Runs the cases of a bundled program in our runtime and compares."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from etlab import display
from etlab.devtools.bundled_program.core import BundledProgram
from etlab.errors import EtlabError, VerificationError
from etlab.runtime import Method, Runtime

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class CaseResult:
    """One output of one case.

    Attributes:
        method: that was run.
        case: index of the case.
        output: index of the output; None when the run failed, or the case expects nothing.
        is_close: whether it is as expected.
        largest_error: the largest absolute difference; None when nothing could be compared.
        message: what is wrong; empty when nothing is.
    """

    method: str
    case: int
    output: int | None
    is_close: bool
    largest_error: float | None
    message: str


@dataclass(frozen=True, slots=True)
class Verification:
    """All outputs of all cases.

    Attributes:
        results: in order.
        rtol: relative tolerance.
        atol: absolute tolerance.
    """

    results: tuple[CaseResult, ...]
    rtol: float
    atol: float

    @property
    def is_ok(self) -> bool:
        """Whether everything is as expected."""
        return all(result.is_close for result in self.results)

    def check(self) -> None:
        """Raise VerificationError with all that differs, if anything does."""
        wrong = [one for one in self.results if not one.is_close]
        if wrong:
            lines = "; ".join(
                f"method '{one.method}', case {one.case}"
                + (f", output {one.output}" if one.output is not None else "")
                + f": {one.message}"
                for one in wrong
            )
            raise VerificationError(f"{len(wrong)} of {len(self.results)} results differ: {lines}")

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a result."""
        import pandas

        fields = list(CaseResult.__dataclass_fields__)
        rows = [[getattr(one, name) for name in fields] for one in self.results]
        return pandas.DataFrame(rows, columns=fields)

    def __repr__(self) -> str:
        """One line."""
        good = sum(one.is_close for one in self.results)
        return f"Verification({good} of {len(self.results)} outputs as expected)"

    def _repr_html_(self) -> str:
        columns = ("method", "case", "output", "as expected", "largest error", "message")
        rows = [
            (
                one.method,
                one.case,
                "" if one.output is None else one.output,
                "yes" if one.is_close else "no",
                "" if one.largest_error is None else f"{one.largest_error:.3g}",
                one.message,
            )
            for one in self.results
        ]
        table = display.table(columns, rows, numeric=("case", "output", "largest error"))
        return display.card("Verification", table, subtitle=f"rtol {self.rtol}, atol {self.atol}")


def verify(
    bundled_program: BundledProgram,
    method_name: str | None = None,
    *,
    rtol: float = 1e-5,
    atol: float = 1e-8,
) -> Verification:
    """Run all cases and compare with what they expect. NaN equals NaN.

    Args:
        bundled_program: with cases.
        method_name: of one method only.
        rtol: how far a number may be off, relative to the expected one.
        atol: how far besides.

    Raises:
        InvalidArgumentError: the method has no cases.
        EtlabError: the program cannot be loaded.
    """
    suites = bundled_program.method_test_suites
    if method_name is not None:
        suites = [bundled_program.suite(method_name)]
    program = Runtime.get().load_program(bundled_program.program_bytes)
    results: list[CaseResult] = []
    for suite in suites:
        for index, case in enumerate(suite.test_cases):
            method = program.new_method(suite.method_name)  # with its first state
            results += run_case(
                method, index, case.inputs, case.expected_outputs, rtol=rtol, atol=atol
            )
    return Verification(tuple(results), rtol, atol)


def run_case(
    method: Method,
    index: int,
    inputs: Sequence[Any],
    expected: Sequence[Any],
    *,
    rtol: float,
    atol: float,
) -> list[CaseResult]:
    """The results of one case; a run that fails is one."""
    name = method.name
    try:
        outputs = method.execute(inputs)
    except EtlabError as error:
        return [CaseResult(name, index, None, False, None, str(error))]
    return compare_case(name, index, outputs, expected, rtol=rtol, atol=atol)


def compare_case(
    name: str,
    index: int,
    outputs: Sequence[Any],
    expected: Sequence[Any],
    *,
    rtol: float,
    atol: float,
) -> list[CaseResult]:
    """The results of one case of a method that gave `outputs`."""
    if not expected:
        return [CaseResult(name, index, None, True, None, "")]
    if len(outputs) != len(expected):
        text = f"{len(outputs)} outputs came, {len(expected)} are expected"
        return [CaseResult(name, index, None, False, None, text)]
    return [
        _compare(name, index, place, actual, wanted, rtol, atol)
        for place, (actual, wanted) in enumerate(zip(outputs, expected, strict=True))
    ]


def _compare(
    name: str, index: int, place: int, actual: Any, wanted: Any, rtol: float, atol: float
) -> CaseResult:
    left, right = torch.as_tensor(actual), torch.as_tensor(wanted)
    if left.dtype != right.dtype or left.shape != right.shape:
        text = f"{left.dtype}{list(left.shape)} came, {right.dtype}{list(right.shape)} is expected"
        return CaseResult(name, index, place, False, None, text)
    wide = torch.complex128 if left.is_complex() else torch.float64
    left, right = left.to(wide), right.to(wide)
    close = torch.isclose(left, right, rtol=rtol, atol=atol, equal_nan=True)
    error = (left - right).abs().nan_to_num(0.0)
    largest = float(error.max()) if error.numel() else 0.0
    if bool(close.all()):
        return CaseResult(name, index, place, True, largest, "")
    count = int((~close).sum())
    text = f"{count} of {close.numel()} numbers differ by up to {largest:.3g}"
    return CaseResult(name, index, place, False, largest, text)
