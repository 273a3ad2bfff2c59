"""Measured time of every node of a graph, from the native runtime's trace."""

import statistics
from collections.abc import Sequence
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.exir import stages
from etlab.numerics.stopping import interruptible
from etlab.runtime import Program


def seconds_of_nodes(
    program: Program, method_name: str, nodes: Sequence[str], inputs: Sequence[Any], *, runs: int
) -> dict[str, float]:
    """Run a method and give the median time of each node that has instructions.

    A delegate's call is one node. What runs several times in a loop counts every time. One run
    before the others is not measured.

    Args:
        program: with its data.
        method_name: which method.
        nodes: which node every instruction came from; `ExecutorchProgramManager.instruction_nodes`.
        inputs: flat, as `Method.execute` takes them.
        runs: how often to run.

    Raises:
        InvalidArgumentError: `runs` is less than one.
        EtlabError: the program refuses or fails.
    """
    if not isinstance(runs, int) or runs < 1:
        raise InvalidArgumentError(f"runs must be at least 1, not {runs!r}")
    method = program.new_method(method_name)
    found: dict[str, list[float]] = {}
    with stages.stage("profile"), interruptible(method.interrupt):
        method.execute(list(inputs))
        for _ in range(runs):
            with method.trace() as events:
                method.execute(list(inputs))
            run: dict[str, float] = {}
            for event in events:
                name = nodes[event.instruction]
                run[name] = run.get(name, 0.0) + event.duration * 1e-9
            for name, seconds in run.items():
                found.setdefault(name, []).append(seconds)
    return {name: statistics.median(seconds) for name, seconds in found.items()}
