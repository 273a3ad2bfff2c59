"""Programs with inputs and expected outputs in one file."""

from etlab.devtools.bundled_program.config import MethodTestCase, MethodTestSuite
from etlab.devtools.bundled_program.core import BundledProgram
from etlab.devtools.bundled_program.verification import CaseResult, Verification, verify

__all__ = [
    "BundledProgram",
    "CaseResult",
    "MethodTestCase",
    "MethodTestSuite",
    "Verification",
    "verify",
]
