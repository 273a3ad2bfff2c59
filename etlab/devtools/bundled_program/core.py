"""`BundledProgram`: a program, and cases to verify it with."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from etlab.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from etlab.devtools.etdump import read_file
from etlab.errors import InvalidArgumentError
from etlab.exir.emit.file import read_program
from etlab.exir.emit.schema import ExecutionPlan, Tensor

if TYPE_CHECKING:
    from etlab.exir.executorch_program import ExecutorchProgramManager


class BundledProgram:
    """A program with test cases.

    Attributes:
        executorch_program: what `to_executorch` returned; None when only the file is known.
        method_test_suites: by method, sorted by name.
    """

    def __init__(
        self,
        executorch_program: "ExecutorchProgramManager | None" = None,
        method_test_suites: Sequence[MethodTestSuite] = (),
        pte_file_path: str | Path | None = None,
        *,
        program_bytes: bytes | None = None,
    ) -> None:
        """Bundle.

        Args:
            executorch_program: what `to_executorch` returned; either this, a path or bytes.
            method_test_suites: cases of its methods.
            pte_file_path: of a program file.
            program_bytes: content of a program file.

        Raises:
            InvalidArgumentError: not exactly one program is given, or a case does not fit it: the
                message says which and why.
            InvalidProgramError: the file is no program.
            AccessError: the file cannot be read.
        """
        given = (executorch_program, pte_file_path, program_bytes)
        if sum(one is not None for one in given) != 1:
            raise InvalidArgumentError(
                "BundledProgram: give one of executorch_program, pte_file_path and program_bytes"
            )
        buffer = getattr(executorch_program, "buffer", None)
        if executorch_program is not None and buffer is None:
            raise InvalidArgumentError(
                "BundledProgram: expected what to_executorch returns as the program, got"
                f" {type(executorch_program).__name__}; the bytes of a file are program_bytes="
            )
        for suite in method_test_suites:
            if not isinstance(suite, MethodTestSuite):
                raise InvalidArgumentError(
                    f"BundledProgram: expected MethodTestSuites, got {type(suite).__name__}"
                )
        self.executorch_program = executorch_program
        if executorch_program is not None:
            program_bytes = bytes(executorch_program.buffer)
        elif pte_file_path is not None:
            program_bytes = read_file(pte_file_path)
        assert program_bytes is not None
        self.program_bytes = program_bytes
        self.method_test_suites = sorted(method_test_suites, key=lambda suite: suite.method_name)
        _check(self.program_bytes, self.method_test_suites)

    def suite(self, method_name: str = "forward") -> MethodTestSuite:
        """The cases of a method.

        Raises:
            InvalidArgumentError: it has none.
        """
        for suite in self.method_test_suites:
            if suite.method_name == method_name:
                return suite
        names = ", ".join(suite.method_name for suite in self.method_test_suites) or "none"
        raise InvalidArgumentError(
            f"the bundled program has no cases for method '{method_name}'; it has them for: {names}"
        )

    def save(self, path: str | Path) -> None:
        """Write a .bpte file.

        Raises:
            AccessError: the place cannot be written.
        """
        from etlab.devtools.bundled_program.serialize import save

        save(self, path)

    def __repr__(self) -> str:
        """One line."""
        suites = ", ".join(
            f"{suite.method_name}: {len(suite.test_cases)} cases"
            for suite in self.method_test_suites
        )
        return f"BundledProgram({len(self.program_bytes):,} bytes; {suites or 'no cases'})"


def _check(program: bytes, suites: Sequence[MethodTestSuite]) -> None:
    plans = {plan.name: plan for plan in read_program(program).program.execution_plan or ()}
    seen: set[str] = set()
    for suite in suites:
        if suite.method_name not in plans:
            names = ", ".join(sorted(str(name) for name in plans))
            raise InvalidArgumentError(
                f"BundledProgram: the program has no method '{suite.method_name}'; it has: {names}"
            )
        if suite.method_name in seen:
            raise InvalidArgumentError(
                f"BundledProgram: two suites for method '{suite.method_name}'; put all its cases"
                " into one"
            )
        seen.add(suite.method_name)
        for index, case in enumerate(suite.test_cases):
            _check_case(plans[suite.method_name], suite.method_name, index, case)


def _check_case(plan: ExecutionPlan, method: str, index: int, case: MethodTestCase) -> None:
    sides = [("input", plan.inputs or (), case.inputs)]
    if case.expected_outputs:
        sides.append(("output", plan.outputs or (), case.expected_outputs))
    for what, places, values in sides:
        who = f"BundledProgram: case {index} of method '{method}'"
        if len(places) != len(values):
            raise InvalidArgumentError(
                f"{who} has {len(values)} {what}s, the method has {len(places)}"
            )
        for number, (place, value) in enumerate(zip(places, values, strict=True)):
            entry = (plan.values or ())[place].val
            if isinstance(entry, Tensor):
                _check_tensor(f"{who}, {what} {number}", entry, value)
            elif isinstance(value, torch.Tensor):
                kind = type(entry).__name__
                raise InvalidArgumentError(f"{who}, {what} {number}: a tensor for an {kind}")


def _check_tensor(who: str, entry: Tensor, value: Any) -> None:
    from etlab.runtime import scalar_type_of

    if not isinstance(value, torch.Tensor):
        raise InvalidArgumentError(f"{who}: {value!r} for a tensor")
    if scalar_type_of(value.dtype) != int(entry.scalar_type):
        raise InvalidArgumentError(
            f"{who}: {value.dtype}, the program has {entry.scalar_type.name.lower()}"
        )
    if value.dim() != len(entry.sizes or ()):
        raise InvalidArgumentError(
            f"{who}: sizes {list(value.shape)}, the program has {list(entry.sizes or ())}"
        )
