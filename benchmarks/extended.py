"""Recurrent layers and attention as one operator of etlab's, beside what default files hold.

Medians of processor time in milliseconds on one thread, the three in turn; "memory" is the planned
arena in KiB, by default and whole; the scratch of kernels is not in it.

    python benchmarks/extended.py [--rounds 15]
"""

import argparse
import statistics
import time
import warnings
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from etlab.exir import ExecutorchBackendConfig, to_edge
from etlab.exir.recurrent import recurrent_layers_whole
from etlab.runtime import Runtime, set_thread_count


class Attention(nn.Module):
    """Scaled dot product attention with options."""

    def __init__(self, **options: Any) -> None:
        super().__init__()
        self.options = options

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor) -> torch.Tensor:
        return functional.scaled_dot_product_attention(query, key, value, **self.options)


Case = tuple[str, nn.Module, tuple[torch.Tensor, ...]]


def recurrent(name: str, layer: type[nn.RNNBase], width: int, batch: int = 1) -> Case:
    """1000 steps of a layer as wide as its input."""
    return name, layer(width, width), (torch.randn(1000, batch, width),)


def attention(name: str, heads: int, rows: int, keys: int, depth: int, **options: Any) -> Case:
    """One sequence; `depth` is that of a head."""
    query = torch.randn(1, heads, rows, depth)
    key, value = (torch.randn(1, heads, keys, depth) for _ in range(2))
    return name, Attention(**options), (query, key, value)


def cases() -> list[Case]:
    torch.manual_seed(0)
    return [
        recurrent("LSTM of 64", nn.LSTM, 64),
        recurrent("LSTM of 64, batch 16", nn.LSTM, 64, 16),
        recurrent("LSTM of 256", nn.LSTM, 256),
        recurrent("GRU of 64", nn.GRU, 64),
        attention("attention, 12 heads of 128x32", 12, 128, 128, 32),
        attention("attention, 8 heads of 512x64", 8, 512, 512, 64),
        attention("causal, 8 heads of 512x64", 8, 512, 512, 64, is_causal=True),
        attention("one query of 32 heads, 1024 keys", 32, 1, 1024, 64),
        attention("attention, 4 heads of 2048x64", 4, 2048, 2048, 64),
    ]


def lowered(model: nn.Module, inputs: tuple[torch.Tensor, ...], *, is_whole: bool) -> Any:
    """The program, with or without extended operators."""
    with recurrent_layers_whole(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exported = torch.export.export(model, inputs, strict=False)
        config = ExecutorchBackendConfig(extended_operators=is_whole)
        return to_edge(exported).to_executorch(config)


def measure(calls: list[Callable[[], Any]], rounds: int) -> list[float]:
    """Median milliseconds of each, in turn, after a warm call."""
    times: list[list[float]] = [[] for _ in calls]
    for turn in range(rounds + 1):
        for call, own in zip(calls, times, strict=True):
            begin = time.thread_time()
            call()
            if turn:
                own.append(time.thread_time() - begin)
    return [1e3 * statistics.median(own) for own in times]


def run(case: Case, rounds: int) -> str:
    name, model, inputs = case
    programs = [lowered(model.eval(), inputs, is_whole=is_whole) for is_whole in (False, True)]
    methods = [Runtime.get().load_program(p.buffer).load_method("forward") for p in programs]
    calls: list[Callable[[], Any]] = [lambda: model(*inputs)]
    calls += [lambda method=method: method.execute(list(inputs)) for method in methods]
    with torch.no_grad():
        eager, parts, whole = measure(calls, rounds)
    memory = "/".join(f"{program.memory_plan().peak // 1024}" for program in programs)
    return f"{name:34}{eager:9.2f}{parts:9.2f}{whole:9.2f}{parts / whole:8.1f}x  {memory}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=15)
    rounds = parser.parse_args().rounds
    torch.set_num_threads(1)
    set_thread_count(1)
    print(f"{'case':34}{'eager':>9}{'default':>9}{'whole':>9}{'gain':>9}  memory")
    for case in cases():
        print(run(case, rounds), flush=True)


if __name__ == "__main__":
    main()
