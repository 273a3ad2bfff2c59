"""The official runtime for tests: one child process for the whole session."""

import atexit
from collections.abc import Sequence
from typing import Any

import pytest
import torch

from etlab.numerics.official import OfficialRuntime, OfficialRuntimeError, is_available

_child: OfficialRuntime | None = None


def run_official(program: bytes, inputs: Sequence[Any], method: str = "forward") -> list[Any]:
    """Run a method of a program once in ExecuTorch's own runtime; skips the test without it."""
    return run_official_repeatedly(program, [inputs], method)[0]


def run_official_repeatedly(
    program: bytes, calls: Sequence[Sequence[Any]], method: str = "forward"
) -> list[list[Any]]:
    """Run a method once for each list of inputs, on one loaded program.

    Raises:
        OfficialRuntimeError: the runtime refuses the program, fails or dies.
    """
    global _child
    if not is_available():
        pytest.skip("executorch is not installed: pip install 'etlab[official]'")
    try:
        if _child is None:
            _child = OfficialRuntime(program, method=method)
            atexit.register(_child.close)
        else:
            _child.load(program, method=method)
        return [_child.execute(list(inputs)) for inputs in calls]
    except OfficialRuntimeError:
        if _child is not None and not _child.is_alive:
            _child.close()
            _child = None
        raise


def flatten(result: Any) -> list[Any]:
    """A model's result as a flat list."""
    leaves: list[Any] = torch.utils._pytree.tree_leaves(result)
    return leaves
