"""The same official `.pte` with XNNPACK delegates on our runtime and on the official one, in turn.

Files are made once by ExecuTorch's own exporter (slow: give `--folder` to keep them), float and,
with a name that ends in `.int8`, static int8. The runtimes run in processes of their own, on one
thread, in alternating rounds; columns are ours, official (microseconds of processor time of one
`execute`, medians over the rounds) and official / ours: above 1 is faster than official. The
largest difference of the results is given by the largest official number.

    python benchmarks/delegates.py [--rounds 7] [--folder DIR] [NAME ...]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import models
import torch
from operators import PACKAGES, children, compare, loader

INT8 = ".int8"


def make(name: str, folder: Path) -> None:
    """Write `<name>.pte` and `<name>.pt`, its inputs, with the official exporter."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    module, inputs = models.MODELS[name.removesuffix(INT8)]()
    exported = torch.export.export(module, inputs)
    if name.endswith(INT8):
        exported = torch.export.export(_quantize(exported.module(), inputs), inputs)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    (folder / f"{name}.pte").write_bytes(program.to_executorch().buffer)
    torch.save(inputs, folder / f"{name}.pt")


def _quantize(module: Any, inputs: tuple[torch.Tensor, ...]) -> Any:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True)
    )
    prepared = prepare_pt2e(module, quantizer)
    with torch.no_grad():
        prepared(*inputs)
    return convert_pt2e(prepared)


def results(package: str, name: str, folder: Path) -> list[torch.Tensor]:
    """What a runtime computes, from a process of its own."""
    out = folder / f"{name}.{package}.out"
    command = [sys.executable, __file__, "--run", package, "--folder", str(folder), name]
    subprocess.run(command, check=True, capture_output=True)
    loaded: list[torch.Tensor] = torch.load(out)
    return loaded


def error_of(name: str, folder: Path) -> float:
    """The largest difference between the runtimes, by the largest official number."""
    ours, theirs = (results(package, name, folder) for package in PACKAGES)
    pairs = zip(ours, theirs, strict=True)
    return max(((a - b).abs().max() / b.abs().max().clamp(min=1e-9)).item() for a, b in pairs)


def main() -> None:
    """Make what is missing, measure, print a table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", choices=PACKAGES, help=argparse.SUPPRESS)
    parser.add_argument("--make", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if options.run:
        name = options.names[0]
        method = loader(options.run)(folder / f"{name}.pte")
        outputs = method.execute(list(torch.load(folder / f"{name}.pt")))
        torch.save(
            [torch.as_tensor(out).clone() for out in outputs], folder / f"{name}.{options.run}.out"
        )
        return
    if options.make:
        make(options.names[0], folder)
        return
    ratios = []
    with children(folder) as processes:
        for name in options.names or models.MODELS:
            if not (folder / f"{name}.pte").exists():
                command = [sys.executable, __file__, "--make", "--folder", str(folder), name]
                if subprocess.run(command, capture_output=True).returncode != 0:
                    print(f"{name:22} the official exporter fails")
                    continue
            ratios.append(compare(name, processes, options.rounds))
            print(f"{'':24}largest difference {error_of(name, folder):.1e}", flush=True)
    if ratios:
        print(f"geometric mean of ratios {statistics.geometric_mean(ratios):.2f}")


if __name__ == "__main__":
    main()
