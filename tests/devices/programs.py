"""Models, and what the tests of devices share."""

import functools
import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pytest
import torch

import etlab


class Endless(torch.nn.Module):
    """Multiplies matrices for minutes, unless it is stopped."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(200):
            x = torch.tanh(x @ x)
        return x


@functools.cache
def export(kind: type[torch.nn.Module], *sizes: int) -> etlab.ExportRun:
    return etlab.export(kind().eval(), (torch.ones(sizes),))


@dataclass(frozen=True)
class Finished:
    code: int
    out: str
    errors: str


Command = Callable[[Sequence[object]], Finished]


def require_tool(name: str, package: str) -> None:
    """Skip the test where a system package is missing; fail where all must be there."""
    if shutil.which(name) is not None:
        return
    reason = f"needs {name} (system package {package})"
    if os.environ.get("ETLAB_REQUIRE_SYSTEM_PACKAGES") == "1":
        pytest.fail(reason)
    pytest.skip(reason)
