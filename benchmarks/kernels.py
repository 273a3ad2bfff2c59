"""Our kernels beside torch eager on the same tensors, in turn, at equal numbers of threads.

Medians over the rounds; "ratio" is eager / ours, above 1 is faster than eager. Matrix products and
convolutions also show GFLOP/s and the share of what one register tile reaches on data in the
first-level cache, measured in the same process. Times are of warm calls in a row; weights and
inputs stay in the cache as far as it holds them. On one thread they are processor time, which a
busy machine disturbs less; on several, time by the wall.

    python benchmarks/kernels.py [--threads 1] [--rounds 7] [--isa best] [--portable] [NAME ...]
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch

from etlab.runtime import _native, set_thread_count
from etlab.testing import KernelOperator, native_arguments

SECONDS_A_ROUND = 0.02


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One call of an out variant; `flops` where a rate says more than a time."""

    name: str
    operator: str
    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    flops: float = 0.0


def normal(*shape: int) -> torch.Tensor:
    return torch.randn(*shape)


def product(name: str, rows: int, depth: int, columns: int) -> Benchmark:
    args = (normal(rows, depth), normal(depth, columns))
    return Benchmark(name, "aten::mm.out", args, flops=2.0 * rows * depth * columns)


def linear(name: str, rows: int, depth: int, columns: int) -> Benchmark:
    args = (normal(rows, depth), normal(columns, depth), normal(columns))
    return Benchmark(name, "aten::linear.out", args, flops=2.0 * rows * depth * columns)


def convolution(
    channels: int, size: int, outputs: int, kernel: int, stride: int = 1, groups: int = 1
) -> Benchmark:
    padding = kernel // 2
    image = normal(1, channels, size, size)
    weight = normal(outputs, channels // groups, kernel, kernel)
    geometry = ([stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups)
    side = (size + 2 * padding - kernel) // stride + 1
    kind = "depthwise" if groups > 1 else "conv"
    name = f"{kind} {channels}x{size}x{size} to {outputs}, {kernel}x{kernel}"
    name += f" stride {stride}" if stride > 1 else ""
    flops = 2.0 * outputs * side * side * channels // groups * kernel * kernel
    return Benchmark(
        name, "aten::convolution.out", (image, weight, normal(outputs), *geometry), flops=flops
    )


def unary(name: str, *shape: int, positive: bool = False, args: tuple[Any, ...] = ()) -> Benchmark:
    x = normal(*shape).abs() + 0.1 if positive else normal(*shape)
    return Benchmark(name, f"aten::{name}.out", (x, *args))


def benchmarks() -> list[Benchmark]:
    torch.manual_seed(0)
    row = normal(256, 4096)
    image = normal(1, 64, 112, 112)
    channel = [normal(96) for _ in range(3)]
    return [
        product("mm 256x512x512", 256, 512, 512),
        product("mm 512x4608x49", 512, 4608, 49),
        Benchmark(
            "bmm 12 heads of 128x32x128",
            "aten::bmm.out",
            (normal(12, 128, 32), normal(12, 32, 128)),
            flops=2.0 * 12 * 128 * 32 * 128,
        ),
        linear("linear 128x384x1536", 128, 384, 1536),
        linear("linear 128x1536x384", 128, 1536, 384),
        linear("linear, one row of 1280 to 1000", 1, 1280, 1000),
        convolution(3, 224, 64, 7, stride=2),
        convolution(3, 224, 32, 3, stride=2),
        convolution(64, 56, 64, 3),
        convolution(128, 28, 128, 3),
        convolution(256, 14, 256, 3),
        convolution(512, 7, 512, 3),
        convolution(96, 56, 24, 1),
        convolution(24, 56, 144, 1),
        convolution(320, 7, 1280, 1),
        convolution(64, 56, 128, 1, stride=2),
        convolution(32, 112, 32, 3, groups=32),
        convolution(144, 56, 144, 3, groups=144),
        convolution(144, 56, 144, 5, stride=2, groups=144),
        convolution(672, 14, 672, 5, groups=672),
        Benchmark("add, same shape", "aten::add.out", (image, normal(1, 64, 112, 112))),
        Benchmark("add, a row", "aten::add.out", (normal(128, 1536), normal(1536))),
        Benchmark("mul, channels", "aten::mul.out", (normal(1, 96, 56, 56), normal(1, 96, 1, 1))),
        Benchmark("div, same shape", "aten::div.out", (normal(256, 1024), normal(256, 1024))),
        *(unary(name, 256, 1024) for name in ("exp", "tanh", "sigmoid", "erf", "relu")),
        *(unary(name, 256, 1024, positive=True) for name in ("log", "sqrt")),
        unary("hardtanh", 1, 96, 56, 56, args=(0.0, 6.0)),
        Benchmark("gelu", "aten::gelu.out", (normal(128, 1536),), {"approximate": "none"}),
        Benchmark("gelu, tanh", "aten::gelu.out", (normal(128, 1536),), {"approximate": "tanh"}),
        Benchmark("sum, rows", "aten::sum.IntList_out", (row, [-1])),
        Benchmark("sum, columns", "aten::sum.IntList_out", (normal(4096, 256), [0])),
        Benchmark("mean, spatial", "aten::mean.out", (normal(1, 1280, 7, 7), [2, 3])),
        Benchmark("amax, rows", "aten::amax.out", (row, [-1])),
        Benchmark("softmax", "aten::_softmax.out", (normal(12, 128, 128), -1, False)),
        Benchmark("log_softmax", "aten::_log_softmax.out", (normal(32, 30522), -1, False)),
        Benchmark(
            "layer norm",
            "aten::native_layer_norm.out",
            (normal(128, 384), [384], normal(384), normal(384), 1e-5),
        ),
        Benchmark(
            "batch norm",
            "aten::_native_batch_norm_legit_no_training.out",
            (normal(1, 96, 56, 56), *channel, normal(96).abs(), 0.1, 1e-5),
        ),
        Benchmark(
            "max pool 3x3 stride 2",
            "aten::max_pool2d_with_indices.out",
            (image, [3, 3], [2, 2], [1, 1]),
        ),
        Benchmark("avg pool 2x2", "aten::avg_pool2d.out", (image, [2, 2])),
    ]


def seconds_of(call: Callable[[int], object], clock: Callable[[], float]) -> float:
    """Seconds of one run, the mean over as many as fill a round; `call(n)` runs n times."""
    call(1)
    begin = clock()
    call(3)
    repeats = max(1, int(SECONDS_A_ROUND / max((clock() - begin) / 3, 1e-6)))
    begin = clock()
    call(repeats)
    return (clock() - begin) / repeats


def measure(
    case: Benchmark, rounds: int, clock: Callable[[], float], *, portable: bool
) -> tuple[float, float, bool]:
    """Median seconds of ours and of eager, and whether the optimized library served the call."""
    operator = KernelOperator.resolve(case.operator)
    expected = operator.eager(case.args, case.kwargs)
    outputs = [
        torch.empty_like(t) for t in (expected if isinstance(expected, tuple) else (expected,))
    ]
    values = native_arguments(operator, case.args, case.kwargs, outputs)
    is_optimized = not portable and _native.supports_optimized(operator.name, values)

    def ours(repeats: int) -> None:
        # Its first run, which allocates scratch memory, is not among the repeats.
        _native.time_kernel(operator.name, values, max(repeats - 1, 1), not portable)

    def eager(repeats: int) -> None:
        for _ in range(repeats):
            operator.eager(case.args, case.kwargs)

    times = [(seconds_of(ours, clock), seconds_of(eager, clock)) for _ in range(rounds)]
    native_times, eager_times = zip(*times, strict=True)
    return statistics.median(native_times), statistics.median(eager_times), is_optimized


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of the names to run; all by default")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--isa", default="best", help="avx512, avx2, neon, generic or best")
    parser.add_argument("--portable", action="store_true", help="measure the portable kernels")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    set_thread_count(options.threads)
    _native.use_instruction_set(options.isa)
    clock = time.process_time if options.threads == 1 else time.perf_counter
    peak = _native.peak_flops() * options.threads
    print(f"{_native.instruction_set()}, {options.threads} thread(s), torch {torch.__version__}")
    print(f"register tile: {peak / 1e9:.0f} GFLOP/s\n")
    print(f"{'':36}{'ours us':>10}{'eager us':>10}{'ratio':>7}{'GFLOP/s':>9}{'share':>7}")
    ratios = []
    for case in benchmarks():
        if options.names and not any(name in case.name for name in options.names):
            continue
        with torch.no_grad():
            ours, eager, is_optimized = measure(
                case, options.rounds, clock, portable=options.portable
            )
        ratios.append(eager / ours)
        line = f"{case.name:36}{ours * 1e6:10.1f}{eager * 1e6:10.1f}{eager / ours:7.2f}"
        if case.flops:
            line += f"{case.flops / ours / 1e9:9.1f}{case.flops / ours / peak:7.0%}"
        print(line + ("" if is_optimized or options.portable else "  portable"), flush=True)
    if ratios:
        print(f"\nmedian ratio {statistics.median(ratios):.2f} over {len(ratios)} cases")


if __name__ == "__main__":
    main()
