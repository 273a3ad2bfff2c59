"""EfficientNet-Lite0 in static int8: two simulations in PyTorch beside the integers of the device.

First each operator alone, fed with the integers of PT2E's simulation: the shares that are equal,
off by one and off by more, by what computes them. Then accumulated: PT2E's simulation by depth, and
XNNPACK's arithmetic (`simulate="xnnpack"`), which is the device: every integer at every boundary.
With `--official` the same programs in ExecuTorch's runtime: delegated beside XNNPACK's arithmetic,
on portable kernels beside PT2E's simulation, and outputs beside ours.

    python benchmarks/parity_proof.py [--samples 4] [--official]
"""

import argparse
from typing import Any

import torch

import etlab
from etlab.models import efficientnet_lite0, photographs
from etlab.numerics import LayerReport, StepCounts, compare_layers
from etlab.numerics.official import OfficialRuntime
from etlab.runtime import Runtime


def total(report: LayerReport, *, local: bool) -> StepCounts:
    """All integers of a report together."""
    rows = [row.local if local else row.accumulated for row in report]
    return sum((row.steps for row in rows if row is not None and row.steps), StepCounts())


def official(run: Any, samples: list[Any], simulate: str | None) -> None:
    """A program in ExecuTorch's runtime, beside a simulation and our runtime."""
    report = compare_layers(
        run, samples, reference="quantized", paths=["official"], simulate=simulate
    )
    simulation = f'simulate="{simulate}"' if simulate else "PT2E's simulation"
    print(f"official runtime, {run.partitioner}, each operator alone, {simulation}:")
    print(f"  {total(report, local=True)}")
    method = Runtime.get().load_program(run.file.data).load_method("forward")
    equal = same_class = 0
    with OfficialRuntime(run.file.data) as runtime:
        for sample in samples:
            ours, theirs = method.execute(list(sample))[0], runtime.execute(sample)[0]
            equal += torch.equal(ours, theirs)
            same_class += int(ours.argmax() == theirs.argmax())
    print(f"  outputs equal to ours: {equal}, same top-1: {same_class}, of {len(samples)}")


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4)
    parser.add_argument("--official", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    crops = photographs.crops(max(8, arguments.samples))
    data = [(crops[index : index + 1],) for index in range(len(crops))]
    runs = {
        partitioner: etlab.export(
            efficientnet_lite0.load(),
            data[0],
            quantizer="int8",
            calibration=data[:8],
            partitioner=partitioner,
            name="EfficientNet-Lite0",
        )
        for partitioner in ("xnnpack", None)
        if partitioner or arguments.official
    }
    run = runs["xnnpack"]
    samples = data[: arguments.samples]
    pt2e = compare_layers(run, samples, reference="quantized", paths=["native"])
    print(pt2e.coverage[0])
    print(f"PT2E's simulation, each operator alone: {total(pt2e, local=True)}")
    print(pt2e.steps_by_kind().round(6).to_string(index=False))
    print("accumulated, by depth:")
    rows = [row for row in pt2e if row.accumulated is not None and row.accumulated.steps]
    for row in rows[:: max(1, len(rows) // 10)]:
        print(f"  {row.module:24} {row.computed_by:20} {row.accumulated.steps}")
    device = compare_layers(
        run, samples, reference="quantized", paths=["native"], simulate="xnnpack"
    )
    whole = [row for row in device if row.accumulated is not None and row.accumulated.steps]
    equal = sum(row.accumulated.steps.equal == row.accumulated.steps.total for row in whole)
    print(f'simulate="xnnpack", accumulated: {total(device, local=False)}')
    print(f"{equal} of {len(whole)} boundaries equal to the last integer")
    for partitioner, one in runs.items() if arguments.official else ():
        official(one, samples, partitioner)


if __name__ == "__main__":
    main()
