"""The operator suite inside the official wheel, through our compiler and our runtime.

    python official_suite.py OUT.json [PYTEST ARGUMENT ...]

The suite's own tests run under pytest with one flow, ours: `torch.export`, our lowering, our native
runtime, eager as judge at our own tolerances. `OUT.json` maps every test to "passed", or to the
reason of its failure. Tests that the suite skips for the official compiler's sake run too.
"""

import copy
import importlib
import json
import sys
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from etlab.testing import assert_same

SUITE = "executorch.backends.test.suite"


def run_module(module: torch.nn.Module, inputs: tuple[Any, ...]) -> None:
    """Assert that the lowered module computes what eager does.

    Raises:
        AssertionError: it computes something else.
        Exception: whatever refuses it on the way.
    """
    from etlab.exir import to_edge_transform_and_lower
    from etlab.runtime import Runtime

    module = module.eval()
    with torch.no_grad():
        expected = torch.utils._pytree.tree_leaves(copy.deepcopy(module)(*copy.deepcopy(inputs)))
    exported = torch.export.export(module, copy.deepcopy(inputs), strict=False)
    program = to_edge_transform_and_lower(exported).to_executorch()
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    flat = [leaf for leaf in torch.utils._pytree.tree_leaves(inputs) if leaf is not None]
    outputs = method.execute(flat)
    assert len(outputs) == len(expected)
    for index, (actual, wanted) in enumerate(zip(outputs, expected, strict=True)):
        assert_same(actual, wanted, f"output {index}")


class Results:
    """The pytest plugin: one flow, and what became of every test.

    Attributes:
        outcome: test name to "passed" or a reason.
    """

    def __init__(self) -> None:
        self.outcome: dict[str, str] = {}

    def pytest_runtest_logreport(self, report: Any) -> None:
        """Note a test's outcome; what a failing module said is already there."""
        name = report.nodeid.rsplit("/", 1)[-1]
        if report.when == "call" or report.outcome != "passed":
            reason = "" if report.passed else f": {str(report.longrepr)[-300:]}"
            self.outcome.setdefault(name, f"{report.outcome}{reason}")

    def run_test(self, model: Any, inputs: Any, *arguments: Any, **options: Any) -> Any:
        """Stands for the suite's own `run_test`."""
        torch.manual_seed(0)
        run_module(model, tuple(inputs))
        return _Passed()


class _Passed:
    """The summary of a passed test, as the suite's fixture reads it."""

    result: Any

    def __init__(self) -> None:
        self.result = self

    def is_success(self) -> bool:
        """It passed."""
        return True


def main() -> None:
    """Run the suite and write the results."""
    out, *arguments = sys.argv[1:]
    torch.set_num_threads(1)
    unittest.skip = _run_anyway  # type: ignore[assignment]
    flow: Any = importlib.import_module(f"{SUITE}.flow")
    portable: Any = importlib.import_module(f"{SUITE}.flows.portable").PORTABLE_TEST_FLOW
    flow.all_flows = lambda: {"portable": portable}
    results = Results()
    runner: Any = importlib.import_module(f"{SUITE}.runner")
    runner.run_test = results.run_test
    folder = Path(str(importlib.import_module(f"{SUITE}.operators").__file__)).parent
    options = ["-q", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", str(folder.parent)]
    pytest.main([*options, "--tb=short", str(folder), *arguments], plugins=[results])
    Path(out).write_text(json.dumps(results.outcome, indent=1, sort_keys=True))


def _run_anyway(reason: str) -> Callable[[Any], Any]:
    return lambda function: function


if __name__ == "__main__":
    main()
