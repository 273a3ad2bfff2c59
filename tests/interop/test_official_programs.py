"""What the official exporter writes runs in our runtime and computes what eager does.

The programs are made once by a child process and kept in pytest's cache. By default those of the
interop models; `ETLAB_FULL=1` adds one of every operator and combination of dtypes.
"""

import copy
import os
from typing import Any

import pytest
import torch
from interop import corpus, models
from interop.official import flatten
from interop.official_defects import EXPORTER_DEFECTS, RARE_DTYPES
from interop.official_programs import official_programs
from torch import nn

import etlab
from etlab.exir.emit.file import Segment, assemble, read_program
from etlab.numerics.official import is_available
from etlab.testing import assert_same

FULL = bool(os.environ.get("ETLAB_FULL"))
MODELS = {**models.MODELS, **models.CONTROL_FLOW}

pytestmark = pytest.mark.skipif(
    not is_available(), reason="executorch is not installed: pip install 'etlab[official]'"
)


@pytest.fixture(scope="module")
def model_programs(pytestconfig: pytest.Config) -> dict[str, bytes | str]:
    return official_programs("models", pytestconfig)


@pytest.fixture(scope="module")
def operator_programs(pytestconfig: pytest.Config) -> dict[str, bytes | str]:
    if not FULL:
        pytest.skip("needs ETLAB_FULL=1: official programs of every operator")
    return official_programs("operators", pytestconfig)


def test_files_are_taken_apart_and_do_not_differ_from_themselves(
    model_programs: dict[str, bytes | str],
) -> None:
    opened = 0
    for name, data in model_programs.items():
        if isinstance(data, str):
            continue
        file = etlab.ProgramFile(data, name=name)
        assert file.size().total == len(data), name
        assert all(s.at + s.nbytes <= len(data) for s in file.anatomy.segments), name
        assert all(row.nodes for row in file.anatomy.delegates), name
        assert file.dump(delegates=True), name
        assert not etlab.diff(file, etlab.ProgramFile(data, name=name)), name
        opened += 1
    assert opened


def _load(program: bytes) -> Any:
    from etlab.runtime import Runtime

    method = Runtime.get().load_program(program).load_method("forward")
    assert method is not None
    return method


@pytest.mark.parametrize("name", MODELS)
def test_official_program_of_a_model_runs(
    name: str, model_programs: dict[str, bytes | str]
) -> None:
    program = model_programs[name]
    assert isinstance(program, bytes), program
    model = MODELS[name]
    module: nn.Module = model.build()
    method = _load(program)
    for turn, inputs in enumerate(model.calls):
        actual = method.execute(list(copy.deepcopy(inputs)))
        with torch.no_grad():
            expected = flatten(module(*copy.deepcopy(inputs)))
        actual = actual[-len(expected) :]  # the official exporter also returns changed inputs
        for index, (got, want) in enumerate(zip(actual, expected, strict=True)):
            if isinstance(want, torch.Tensor):
                assert_same(got, want.detach(), f"{name}, call {turn}, output {index}")
            else:
                assert got == want, f"{name}, call {turn}, output {index}"


@pytest.mark.parametrize("name", [name for name in corpus.CASES if corpus.is_in_corpus(name)])
def test_official_program_of_an_operator_runs(
    name: str, operator_programs: dict[str, bytes | str]
) -> None:
    operator = corpus.functional_of(name)
    assert operator is not None
    for number, case in enumerate(corpus.cases_by_dtype(name)):
        program = operator_programs[f"{name} {number}"]
        sample = corpus.make_sample(operator, case)
        if isinstance(program, str) or sample is None:
            continue  # the official exporter, or eager, refuses this call
        if RARE_DTYPES & set(sample.dtypes) or (name, sample.dtypes) in EXPORTER_DEFECTS:
            continue
        actual = _load(program).execute(sample.inputs)
        for index, (got, want) in enumerate(zip(actual, sample.expected, strict=True)):
            assert_same(got, want, f"{sample.text} output {index}")


@pytest.mark.parametrize("name", MODELS)
def test_official_program_is_read_and_written_back(
    name: str, model_programs: dict[str, bytes | str]
) -> None:
    program = model_programs[name]
    assert isinstance(program, bytes), program
    data = read_program(program)
    segments = [Segment(len(part), [(0, part)]) for part in data.segments]
    image, _ = assemble(data.program, segments)
    again = read_program(image.to_bytes())
    assert again.program == data.program
    assert again.segments == data.segments
