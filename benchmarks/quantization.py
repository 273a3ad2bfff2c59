"""How long it takes to quantize and lower for XNNPACK, beside the official package.

Static int8, a scale for every output channel, one calibration sample: from the exported program
through prepare, calibrate, convert and export again to `.buffer`. Every measurement is a fresh
process, the two packages in turn; the first time in a process, and the second with other weights.
Medians over the rounds; the ratio is official / etlab.

    python benchmarks/quantization.py [--rounds 1] [MODEL ...]
"""

import argparse
import itertools
import json
import statistics
import subprocess
import sys
import time
from typing import Any

from lowering import DEFAULT_MODELS, load_models

BAR = 5.0  # times faster, quantizing and lowering together
STEPS = ("prepare", "calibrate", "convert", "export", "lower")


def measure(package: str, model_name: str) -> dict[str, Any]:
    """Quantize and lower one model twice in this process."""
    import torch

    torch.set_num_threads(1)
    if package == "etlab":
        from etlab.backends.xnnpack import (
            XnnpackPartitioner,
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )
        from etlab.exir import to_edge_transform_and_lower
        from etlab.quantize.pt2e.flow import convert_pt2e, prepare_pt2e
    else:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )
        from executorch.exir import to_edge_transform_and_lower
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(0)
    model, inputs = load_models(DEFAULT_MODELS).MODELS[model_name]()
    result: dict[str, Any] = {}
    for turn in ("first", "second"):
        if turn == "second":
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1.01)
        module = torch.export.export(model, inputs, strict=False).module()
        times = [time.perf_counter()]
        config = get_symmetric_quantization_config(is_per_channel=True)
        prepared = prepare_pt2e(module, XNNPACKQuantizer().set_global(config))
        times.append(time.perf_counter())
        with torch.no_grad():
            prepared(*inputs)
        times.append(time.perf_counter())
        converted = convert_pt2e(prepared)
        times.append(time.perf_counter())
        program = torch.export.export(converted, inputs, strict=False)
        times.append(time.perf_counter())
        manager = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
        size = len(manager.to_executorch().buffer)
        times.append(time.perf_counter())
        result[turn] = {
            step: after - before
            for step, (before, after) in zip(STEPS, itertools.pairwise(times), strict=True)
        }
        result["bytes"] = size
    return result


def in_fresh_process(package: str, model_name: str) -> dict[str, Any]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--measure", package, model_name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{package} failed on {model_name}:\n{done.stderr[-2000:]}")
    result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
    return result


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("models", nargs="*", default=["efficientnet_lite0", "vit_tiny"])
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--measure", nargs=2, metavar=("PACKAGE", "MODEL"))
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return
    columns = f"{'official s':>10s} {'etlab s':>8s} {'ratio':>6s}"
    print(f"{'model':20s} {'turn':7s} {columns}  etlab's steps")
    for name in arguments.models:
        rounds = [
            {package: in_fresh_process(package, name) for package in ("official", "etlab")}
            for _ in range(arguments.rounds)
        ]
        for turn in ("first", "second"):
            seconds = {
                package: statistics.median(sum(one[package][turn].values()) for one in rounds)
                for package in ("official", "etlab")
            }
            ratio = seconds["official"] / seconds["etlab"]
            steps = ", ".join(
                f"{step} {statistics.median(one['etlab'][turn][step] for one in rounds):.2f}"
                for step in STEPS
            )
            mark = "" if ratio >= BAR else f"  below the bar of {BAR:g}"
            print(
                f"{name:20s} {turn:7s} {seconds['official']:10.2f} {seconds['etlab']:8.2f}"
                f" {ratio:6.1f}  {steps}{mark}",
                flush=True,
            )


if __name__ == "__main__":
    main()
