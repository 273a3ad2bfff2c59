"""The same official `.pte` with XNNPACK delegates on our runtime and on the official one, in turn.

Files are made once by ExecuTorch's own exporter (slow: give `--folder` to keep them), float and,
with a name that ends in `.int8`, static int8. Where that exporter cannot quantize a model, ours
does, and the official runtime is left out. ONNX Runtime runs beside them, if it is installed with
`onnx` and `onnxscript`, on the model as torch exports it, or as its own tools quantize that (QDQ).

The runtimes run in processes of their own, in alternating rounds. Columns are microseconds of one
`execute` (processor time on one thread, wall time on several), medians over the rounds, and
official / ours and ONNX Runtime / ours: above 1 we are faster. The largest difference of the
results is given by the largest official number.

    python benchmarks/delegates.py [--rounds 7] [--threads 1] [--folder DIR] [NAME ...]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import models
import onnx_models
import torch
from operators import PACKAGES, children, loader, medians

INT8 = ".int8"
FIVE = ("mobilenet_v2", "resnet18", "efficientnet_lite0", "vit_tiny", "bert6")
NAMES = [*FIVE, *(name + INT8 for name in FIVE)]
STEPS = ("official", "ours", "onnx")  # files are made in a process each: exporters may die
MADE_BY_US = ".ours"  # beside a file that our exporter made


def make(step: str, name: str, folder: Path) -> None:
    """Write `<name>.pte` and `<name>.pt`, its inputs, or `<name>.onnx`."""
    torch.manual_seed(0)
    module, inputs = models.MODELS[name.removesuffix(INT8)]()
    path = folder / f"{name}.pte"
    if step == "onnx":
        plain = folder / f"{name.removesuffix(INT8)}.onnx"
        if not plain.exists():
            onnx_models.export(module, inputs, plain)
        if name.endswith(INT8):
            onnx_models.quantize(plain, inputs, path.with_suffix(".onnx"))
        return
    if step == "ours":
        import etlab

        quantizer = "int8" if name.endswith(INT8) else None
        calibration = [inputs] if quantizer else None
        etlab.export(
            module, inputs, partitioner="xnnpack", quantizer=quantizer, calibration=calibration
        ).save(path)
        path.with_suffix(MADE_BY_US).touch()
    else:
        path.write_bytes(_official(name, module, inputs))
    torch.save(inputs, folder / f"{name}.pt")


def _official(name: str, module: Any, inputs: tuple[torch.Tensor, ...]) -> bytes:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import to_edge_transform_and_lower

    exported = torch.export.export(module, inputs)
    if name.endswith(INT8):
        exported = torch.export.export(_quantize(exported.module(), inputs), inputs)
    program = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    buffer: bytes = program.to_executorch().buffer
    return buffer


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


def make_missing(name: str, folder: Path) -> list[str]:
    """The packages that have a file to run."""

    def is_made(step: str) -> bool:
        command = [sys.executable, __file__, "--make", step, "--folder", str(folder), name]
        return subprocess.run(command, capture_output=True).returncode == 0

    path = folder / f"{name}.pte"
    if not path.exists() and not is_made("official") and not is_made("ours"):
        return []
    packages = ["etlab"] if path.with_suffix(MADE_BY_US).exists() else list(PACKAGES)
    has_onnx = onnx_models.is_available() and (
        path.with_suffix(".onnx").exists() or is_made("onnx")
    )
    return [*packages, "onnx"] if has_onnx else packages


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


def run(package: str, name: str, folder: Path) -> None:
    """Write what a runtime computes."""
    outputs = loader(package)(folder / f"{name}.pte").execute(
        list(torch.load(folder / f"{name}.pt"))
    )
    torch.save([torch.as_tensor(out).clone() for out in outputs], folder / f"{name}.{package}.out")


def row(name: str, folder: Path, seconds: dict[str, float]) -> str:
    """Times and ratios of one model."""
    ours = seconds["etlab"]
    cells = [f"{ours * 1e6:11.0f}"]
    for package in ("official", "onnx"):
        time = seconds.get(package)
        cells += [" " * 19] if time is None else [f"{time * 1e6:11.0f}{time / ours:8.2f}"]
    error = f"{error_of(name, folder):9.0e}" if "official" in seconds else ""
    return f"{name:24}" + "".join(cells) + error


def print_means(ratios: dict[str, dict[str, float]]) -> None:
    """Geometric means, of float and int8 models apart."""
    for package in ("official", "onnx"):
        for kind, is_int8 in (("float", False), ("int8", True)):
            some = [
                times[package] / times["etlab"]
                for name, times in ratios.items()
                if package in times and name.endswith(INT8) == is_int8
            ]
            if some:
                mean = statistics.geometric_mean(some)
                print(f"{kind}: {package} / ours, geometric mean of {len(some)}: {mean:.2f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help=", ".join(NAMES))
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--run", choices=PACKAGES, help=argparse.SUPPRESS)
    parser.add_argument("--make", choices=STEPS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    if options.run:
        run(options.run, options.names[0], folder)
    elif options.make:
        make(options.make, options.names[0], folder)
    else:
        compare_all(options.names or NAMES, folder, options.rounds, options.threads)


def compare_all(names: Sequence[str], folder: Path, rounds: int, threads: int) -> None:
    """Make what is missing, measure, print a table."""
    print(f"{'':24}{'ours us':>11}{'official':>11}{'ratio':>8}{'onnx':>11}{'ratio':>8}{'error':>9}")
    times: dict[str, dict[str, float]] = {}
    for name in names:
        packages = make_missing(name, folder)
        if not packages:
            print(f"{name:24} no exporter makes a file of it")
            continue
        with children(folder, packages, threads) as processes:
            times[name] = medians(name, processes, rounds)
        print(row(name, folder, times[name]), flush=True)
    print_means(times)


if __name__ == "__main__":
    main()
