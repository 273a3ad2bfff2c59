"""What a bundled program is tested with."""

from collections.abc import Sequence
from typing import Any

import torch
from torch.utils import _pytree

from etlab.errors import InvalidArgumentError

Value = torch.Tensor | int | float | bool


class MethodTestCase:
    """The inputs of one call, and what it should return.

    Attributes:
        inputs: flat.
        expected_outputs: flat; empty when the case is only for running.
    """

    def __init__(self, inputs: Any, expected_outputs: Any = None) -> None:
        """A case of nested values.

        Raises:
            InvalidArgumentError: a value is no tensor and no number.
        """
        self.inputs = _flat(inputs, "inputs")
        self.expected_outputs = (
            [] if expected_outputs is None else _flat(expected_outputs, "expected_outputs")
        )

    def __repr__(self) -> str:
        """One line."""
        return f"MethodTestCase({len(self.inputs)} inputs, {len(self.expected_outputs)} outputs)"


class MethodTestSuite:
    """The cases of one method.

    Attributes:
        method_name: which one.
        test_cases: in order; their index is what an ETDump's runs name.
    """

    def __init__(self, method_name: str, test_cases: Sequence[MethodTestCase]) -> None:
        """Cases of a method."""
        self.method_name = method_name
        self.test_cases = list(test_cases)

    def __repr__(self) -> str:
        """One line."""
        return f"MethodTestSuite({self.method_name}: {len(self.test_cases)} cases)"


def _flat(values: Any, what: str) -> list[Value]:
    flat = _pytree.tree_leaves(values)
    for value in flat:
        if not isinstance(value, Value):
            raise InvalidArgumentError(
                f"MethodTestCase: {what} hold a {type(value).__name__}; a bundled program holds"
                " tensors, integers, floats and booleans"
            )
    return flat
