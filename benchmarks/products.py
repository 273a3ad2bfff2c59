"""Products inside XNNPACK delegates: their rates, and the share of what this machine does at most.

A layer is exported with the quantizer named and run in a loop; the time is that of its node alone,
by the wall, the best of the repeats beside their lower quartile. float32 rates are shares of what a
register tile reaches, integer ones of four times that, which is what dot products of four bytes
reach where the processor has them. One row reads each weight once: its shares are of the bytes a
second that memory gives. The limits are measured before and after each layer, and the larger one
counts. Layers of one row are larger than the caches; those of several stay in them. Float 3x3
convolutions of stride 1 do less than they are counted for (Winograd's form): above 100 %.

    python benchmarks/products.py [--threads 1] [--repeats 30] [NAME ...]
"""

import argparse
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import nn

import etlab
from etlab.runtime import Runtime, measure_roofline, set_thread_count

NODES = ("FullyConnected", "Conv2d", "DepthwiseConv2d")


@dataclass(frozen=True, slots=True)
class Product:
    """A layer, its input, and how its weights are kept."""

    name: str
    module: nn.Module
    inputs: torch.Tensor
    quantizer: str | None
    operations: float  # a multiplication and an addition are two
    weight_bytes: float  # 0: what counts is arithmetic


def linear(rows: int, depth: int, columns: int, quantizer: str | None) -> Product:
    bits = {"8da4w": 4.5, "int8-dynamic": 8.0}.get(quantizer or "", 32.0)  # a scale each 32 weights
    return Product(
        f"linear {rows} x {depth} to {columns}, {quantizer or 'float'}",
        nn.Linear(depth, columns, bias=False),
        torch.randn(rows, depth),
        quantizer,
        2.0 * rows * depth * columns,
        depth * columns * bits / 8 if rows == 1 else 0,
    )


def convolution(
    channels: int, size: int, outputs: int, kernel: int, quantizer: str | None, stride: int = 1
) -> Product:
    groups = channels if channels == outputs and kernel > 1 and channels % 48 == 0 else 1
    module = nn.Conv2d(channels, outputs, kernel, stride, kernel // 2, groups=groups)
    side = (size + 2 * (kernel // 2) - kernel) // stride + 1
    kind = "depthwise" if groups > 1 else "conv"
    return Product(
        f"{kind} {channels}x{size}x{size} to {outputs}, {kernel}x{kernel}, {quantizer or 'float'}",
        module,
        torch.randn(1, channels, size, size).to(memory_format=torch.channels_last),
        quantizer,
        2.0 * side * side * outputs * channels // groups * kernel * kernel,
        0,
    )


def products() -> list[Callable[[], Product]]:
    """Made one at a time: the largest take a while."""
    shapes: list[Callable[[], Product]] = []
    for quantizer in ("8da4w", "int8-dynamic", None):
        shapes += [
            lambda q=quantizer: linear(1, 4096, 16384, q),
            lambda q=quantizer: linear(128, 576, 1536, q),
            lambda q=quantizer: linear(128, 2048, 2048, q),
        ]
    for quantizer in ("int8", None):
        shapes += [
            lambda q=quantizer: convolution(3, 224, 64, 7, q, 2),
            lambda q=quantizer: convolution(64, 56, 64, 3, q),
            lambda q=quantizer: convolution(256, 14, 256, 3, q),
            lambda q=quantizer: convolution(512, 7, 512, 3, q),
            lambda q=quantizer: convolution(16, 112, 96, 1, q),
            lambda q=quantizer: convolution(384, 14, 64, 1, q),
            lambda q=quantizer: convolution(144, 56, 144, 3, q),
        ]
    return shapes


def node_seconds(product: Product, repeats: int, folder: Path) -> list[float]:
    """Seconds that the layer's node took, sorted."""
    calibration = [(product.inputs,)] if product.quantizer == "int8" else None
    run = etlab.export(
        product.module.eval(),
        (product.inputs,),
        partitioner="xnnpack",
        quantizer=product.quantizer,
        calibration=calibration,
    )
    path = folder / "product.pte"
    run.save(path)
    method = Runtime.get().load_program(path).load_method("forward")
    for _ in range(3):
        method.execute([product.inputs])
    with method.trace() as events:
        for _ in range(repeats):
            method.execute([product.inputs])
    return sorted(n.duration / 1e9 for event in events for n in event.nodes if n.name in NODES)


def row(product: Product, repeats: int, threads: int, folder: Path) -> str:
    """Times, rate and share."""

    def limit() -> float:
        measure_roofline.cache_clear()
        roofline = measure_roofline(threads)
        if product.weight_bytes:
            return roofline.bandwidth
        return roofline.flops * (1 if product.quantizer is None else 4)

    before = limit()
    seconds = node_seconds(product, repeats, folder)
    most = max(before, limit())
    best, quartile = seconds[0], seconds[len(seconds) // 4]
    amount, unit = (
        (product.weight_bytes, "GB/s") if product.weight_bytes else (product.operations, "GOP/s")
    )
    return (
        f"{product.name:48}{best * 1e6:10.1f}{quartile * 1e6:10.1f}"
        f"{amount / best / 1e9:9.1f} {unit:6}{amount / best / most:7.0%}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="parts of names")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=30)
    options = parser.parse_args()
    torch.set_num_threads(1)
    torch.manual_seed(0)
    warnings.simplefilter("ignore")  # of random calibration data
    set_thread_count(options.threads)
    print(f"{'':48}{'best us':>10}{'quartile':>10}{'rate':>9} {'':6}{'share':>7}")
    with tempfile.TemporaryDirectory() as folder:
        for make in products():
            product = make()
            if options.names and not any(name in product.name for name in options.names):
                continue
            print(row(product, options.repeats, options.threads, Path(folder)), flush=True)


if __name__ == "__main__":
    main()
