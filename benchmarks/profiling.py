"""What profiling costs: the same calls with and without tracing, in turn.

Columns: instructions and delegate nodes of a run, microseconds of processor time of a call without
and with tracing (medians), and what tracing adds. Reading the trace comes after the runs and is
given apart, for one run.

    python benchmarks/profiling.py [--rounds 200] [--partitioner xnnpack] [NAME ...]
"""

import argparse
import statistics
import time
from typing import Any

import models
import torch
from torch import nn

import etlab
from etlab.runtime import set_thread_count


class Small(nn.Module):
    """Many operators on few numbers: the most that tracing can cost."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for _ in range(150):
            x = torch.relu(x) + 1.0
        return x


def measure(module: nn.Module, inputs: tuple[Any, ...], partitioner: str, rounds: int) -> str:
    """One line of the table."""
    run = etlab.export(module.eval(), inputs, partitioner=partitioner)
    method = run.file.program.new_method("forward")
    flat = list(inputs)
    for _ in range(3):
        method.execute(flat)
    trace = method.start_trace()
    plain, traced = [], []
    for _ in range(rounds):
        method.stop_trace()
        plain.append(_call(method, flat))
        method.resume_trace(trace)
        traced.append(_call(method, flat))
    begin = time.process_time()
    events = list(trace)
    reading = (time.process_time() - begin) / rounds
    count = len(events) // rounds
    nodes = sum(len(event.nodes) for event in events) // rounds
    off, on = statistics.median(plain) * 1e6, statistics.median(traced) * 1e6
    return f"{count:8} {nodes:6} {off:10.1f} {on:10.1f} {on / off - 1:+8.1%} {reading * 1e6:10.1f}"


def _call(method: Any, inputs: list[Any]) -> float:
    begin = time.process_time()
    method.execute(inputs)
    return time.process_time() - begin


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["small", "efficientnet_lite0"])
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--partitioner", default="none")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    set_thread_count(1)
    makers = {"small": lambda: (Small(), (torch.randn(64),)), **models.MODELS}
    print(f"{'model':20} operators  nodes     off us      on us    added    read us")
    for name in arguments.names:
        module, inputs = makers[name]()
        line = measure(module, inputs, arguments.partitioner, arguments.rounds)
        print(f"{name:20} {line}", flush=True)


if __name__ == "__main__":
    main()
