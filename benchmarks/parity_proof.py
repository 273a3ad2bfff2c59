"""EfficientNet-Lite0 in static int8: two simulations in PyTorch beside the integers of the device.

First each operator alone, fed with the integers of PT2E's simulation: the shares that are equal,
off by one and off by more, by what computes them. Then accumulated: PT2E's simulation by depth, and
XNNPACK's arithmetic (`simulate="xnnpack"`), which is the device: every integer at every boundary.

    python benchmarks/parity_proof.py [--samples 4]
"""

import argparse

import torch

import etlab
from etlab.models import efficientnet_lite0, photographs
from etlab.numerics import LayerReport, StepCounts, compare_layers


def total(report: LayerReport, *, local: bool) -> StepCounts:
    """All integers of a report together."""
    rows = [row.local if local else row.accumulated for row in report]
    return sum((row.steps for row in rows if row is not None and row.steps), StepCounts())


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--samples", type=int, default=4)
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    crops = photographs.crops(max(8, arguments.samples))
    data = [(crops[index : index + 1],) for index in range(len(crops))]
    run = etlab.export(
        efficientnet_lite0.load(),
        data[0],
        quantizer="int8",
        calibration=data[:8],
        partitioner="xnnpack",
        name="EfficientNet-Lite0",
    )
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


if __name__ == "__main__":
    main()
