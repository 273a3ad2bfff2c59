"""A small version of `benchmarks/planted_faults.py`: every kind of fault, on a small model."""

import importlib
import random
from pathlib import Path

import pytest
from numerics.quantized_models import residual_run, samples

from etlab.inspect.program_file import ProgramFile
from etlab.numerics import compare_layers
from etlab.numerics.alignment import align
from etlab.numerics.parts import ProgramParts

_FOLDER = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture(scope="module")
def planting():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(_FOLDER))
        yield importlib.import_module("fault_planting")


@pytest.fixture(scope="module")
def runs():
    return {
        "integers in a delegate": residual_run(is_quantized=True),
        "floats in a delegate": residual_run(),
        "integers without one": residual_run(is_quantized=True, partitioner=None),
        "floats without one": residual_run(partitioner=None),
    }


def places_of(run):
    alignment = align(run, ProgramParts(run.file.content))
    sites = {operator.name: alignment.site(operator) for operator in alignment.operators}
    return {site.place: name for name, site in sites.items() if site is not None}


CASES = {
    "integers in a delegate": (
        *("wrong scale", "swapped weights", "shifted zero point", "dropped tail"),
    ),
    "floats in a delegate": ("swapped weights", "dropped tail"),
    "integers without one": ("wrong scale", "shifted zero point", "dropped tail"),
    "floats without one": ("swapped weights", "dropped tail"),
}


@pytest.mark.parametrize(
    ("where", "kind"), [(where, kind) for where, kinds in CASES.items() for kind in kinds]
)
def test_a_planted_fault_is_the_first_divergence(planting, runs, where, kind):
    run = runs[where]
    places = places_of(run)
    faults = [one for one in planting.faults_of(run.file.data, places) if one.kind == kind]
    for fault in random.Random(3).sample(faults, min(2, len(faults))):
        file = ProgramFile(fault.plant(run.file.data))
        reference = "eager" if run.quantized is None else "quantized"
        report = compare_layers(run, samples(1), reference=reference, paths=["native"], file=file)
        found = report.first_divergence()
        assert found is not None, (fault.kind, places[fault.place])
        assert found.operator == places[fault.place]
        assert found.row.source.startswith("quantized_models.py:")
