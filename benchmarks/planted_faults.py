"""Does `first_divergence` name the fault? Trials with faults in programs' bytes, drawn by a seed.

Models: EfficientNet-Lite0 in static int8 and MiniLM in dynamic int8 with XNNPACK delegates, and
both in float on etlab's own kernels. Faults: see `fault_planting.py`. Each trial draws a program, a
kind of fault and a layer, damages the bytes, compares with the model in PyTorch on real data, and
is right when the first divergence is the damaged step (for swapped weights: the first of the two).

    python benchmarks/planted_faults.py [--trials 20] [--seed 0] [--model NAME ...]
"""

import argparse
import random
import time
from collections.abc import Callable
from typing import Any

import torch
from fault_planting import KINDS, Fault, faults_of

import etlab
from etlab.inspect.program_file import ProgramFile
from etlab.numerics import LayerReport, compare_layers
from etlab.numerics.alignment import align
from etlab.numerics.parts import ProgramParts
from etlab.numerics.paths import flatten_arguments
from etlab.numerics.places import Place
from etlab.run import ExportRun
from etlab.runtime import Runtime


def _lite0(**options: Any) -> ExportRun:
    from etlab.models import efficientnet_lite0, photographs

    crops = photographs.crops(4)
    data = [(crops[index : index + 1],) for index in range(len(crops))]
    return etlab.export(efficientnet_lite0.load(), data[0], calibration=data, **options)


def _minilm(**options: Any) -> ExportRun:
    from etlab.models import minilm

    texts = ["A cat sleeps on the warm windowsill.", "Rain fell over the quiet harbour all night."]
    batch = minilm.batch(texts)
    return etlab.export(minilm.load(), batch, calibration=[batch], **options)


MODELS: dict[str, Callable[[], ExportRun]] = {
    "lite0-int8": lambda: _lite0(quantizer="int8", partitioner="xnnpack", name="lite0-int8"),
    "lite0": lambda: _lite0(name="lite0"),
    "minilm-int8": lambda: _minilm(
        quantizer="int8-dynamic", partitioner="xnnpack", name="minilm-int8"
    ),
    "minilm": lambda: _minilm(name="minilm"),
}


class Subject:
    """A run with what faults can be planted in it."""

    def __init__(self, run: ExportRun) -> None:
        self.run = run
        self.sample = run.calibration[0]
        self.reference = "eager" if run.quantized is None else "quantized"
        alignment = align(run, ProgramParts(run.file.content))
        self.places: dict[Place, str] = {}
        for operator in alignment.operators:
            site = alignment.site(operator)
            if site is not None:
                self.places[site.place] = operator.name
        self.faults = faults_of(run.file.data, self.places)

    def compare(self, data: bytes) -> LayerReport:
        """The operators of a program of this run."""
        file = ProgramFile(data, name="damaged.pte")
        return compare_layers(
            self.run, [self.sample], reference=self.reference, paths=["native"], file=file
        )

    def outputs(self, data: bytes) -> list[torch.Tensor]:
        """What a program returns for the sample."""
        method = Runtime.get().load_program(data).load_method("forward")
        return method.execute(flatten_arguments(self.sample))


def draw(subject: Subject, generator: random.Random) -> tuple[Fault, bytes]:
    """A fault and the damaged bytes; drawn again where the damage changes no output.

    The tail of a tensor may be zero before it is dropped.
    """
    kinds = [kind for kind in KINDS if any(one.kind == kind for one in subject.faults)]
    clean = subject.outputs(subject.run.file.data)
    while True:
        kind = generator.choice(kinds)
        fault = generator.choice([one for one in subject.faults if one.kind == kind])
        data = fault.plant(subject.run.file.data)
        pairs = zip(clean, subject.outputs(data), strict=True)
        if not all(torch.equal(left, right) for left, right in pairs):
            return fault, data


def try_fault(subject: Subject, fault: Fault, data: bytes) -> tuple[bool, str, str]:
    """Whether the fault was named, what was damaged, and what was named."""
    expected = subject.places[fault.place]
    found = subject.compare(data).first_divergence()
    said = "nothing" if found is None else found.operator
    return said == expected, expected, said


def main() -> None:
    """Run the trials and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--model", nargs="*", choices=MODELS, default=list(MODELS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    generator = random.Random(arguments.seed)
    subjects = {name: Subject(MODELS[name]()) for name in arguments.model}
    for name, subject in subjects.items():
        clean = subject.compare(subject.run.file.data)
        kinds = {kind: sum(one.kind == kind for one in subject.faults) for kind in KINDS}
        print(f"{name}: {clean.coverage[0]}; without a fault: {clean.first_divergence()}; {kinds}")
        assert clean.first_divergence() is None
    right = 0
    for trial in range(arguments.trials):
        name = list(subjects)[trial % len(subjects)]
        subject = subjects[name]
        fault, data = draw(subject, generator)
        begin = time.perf_counter()
        is_right, expected, said = try_fault(subject, fault, data)
        right += is_right
        where = "inside" if fault.place.is_inside else "outside"
        print(
            f"{trial:2d} {'ok   ' if is_right else 'WRONG'} {name:12} {fault.kind:18} {where:7}"
            f" {expected:14} named {said:14} {time.perf_counter() - begin:.1f} s",
            flush=True,
        )
    print(f"{right} of {arguments.trials} faults named")


if __name__ == "__main__":
    main()
