"""TOSA delegates in the runtime: what they run on, and what goes wrong."""

import os
import signal
import sys

import numpy as np
import pytest
import torch
from torch import nn
from tosa_checks import delegates, lowered_run, waves

import etlab
from etlab.backends.arm import package, reference_model
from etlab.backends.arm.delegate import TosaDelegate
from etlab.backends.arm.tosa import TOSABackend
from etlab.errors import EtlabError, InvalidArgumentError, InvalidProgramError
from etlab.runtime import Runtime

needs_model = pytest.mark.skipif(
    not package.has_reference_model(), reason="tosa-tools is not installed"
)


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    return lowered_run(nn.Linear(5, 3), waves(4, 5))


def test_without_the_package_a_program_loads_is_inspected_and_refuses_to_run(run, monkeypatch):
    monkeypatch.setattr(package, "has_reference_model", lambda: False)
    method = Runtime.get().load_program(run.file.data).load_method("forward")
    assert "CONV2D" in run.file.delegate_text()
    with pytest.raises(EtlabError, match=r"tosa-tools, which is not installed: pip install 'etlab"):
        method.execute([waves(4, 5)])


def test_a_missing_package_is_shown_with_the_choice(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    frame = {choice.name: choice.missing for choice in etlab.list_partitioners()}
    assert frame["tosa"] == "tosa_reference_model: pip install 'etlab[arm]'"


@needs_model
def test_a_program_runs_after_the_model_s_process_has_died(run):
    expected = run.run(waves(4, 5))
    child = reference_model._children[0]._process
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    assert torch.equal(run.run(waves(4, 5)), expected)


@needs_model
def test_the_death_of_the_model_is_an_error_with_its_cause(run, monkeypatch, tmp_path):
    script = tmp_path / "dies.py"
    script.write_text("import os, sys\nsys.stderr.write('no such gate\\n')\nos.abort()\n")
    reference_model._forget()
    monkeypatch.setattr(reference_model, "_CHILD", script)
    with pytest.raises(EtlabError, match=r"died of SIGABRT \(no such gate\)"):
        run.run(waves(4, 5))
    monkeypatch.undo()
    assert run.run(waves(4, 5)).shape == (4, 3)


def test_a_damaged_graph_is_an_invalid_program(run):
    program = bytearray(run.file.data)
    (graph,) = [one.processed_bytes for one in delegates(run)]
    at = program.find(graph)
    program[at + len(graph) // 2 : at + len(graph)] = bytes(len(graph) - len(graph) // 2)
    with pytest.raises(InvalidProgramError, match="delegate 0"):
        Runtime.get().load_program(bytes(program)).load_method("forward")


@needs_model
def test_a_graph_that_the_model_refuses_is_an_error_with_its_words():
    with pytest.raises(reference_model.ReferenceModelError, match="TOSA's reference model"):
        reference_model.run(b"nothing", [np.zeros(3, np.int8)])


@needs_model
def test_an_interrupt_that_jupyter_sends_to_every_process_leaves_the_model_alone(run):
    before = run.run(waves(4, 5))
    child = reference_model._children[0]._process
    os.kill(child.pid, signal.SIGINT)
    assert torch.equal(run.run(waves(4, 5)), before)
    assert reference_model._children[0]._process is child


@needs_model
@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
def test_a_stop_ends_the_model_and_leaves_the_next_run_whole(run):
    expected = run.run(waves(4, 5))
    child = reference_model._children[0]._process
    os.kill(child.pid, signal.SIGSTOP)  # it hangs
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, 0.4)
    try:
        with pytest.raises((KeyboardInterrupt, EtlabError)):
            run.run(waves(4, 5))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    assert torch.equal(run.run(waves(4, 5)), expected)


def test_wrong_inputs_are_refused_before_anything_runs(run):
    (part,) = delegates(run)
    delegate = TosaDelegate(part.processed_bytes)
    with pytest.raises(InvalidArgumentError, match="has 1 inputs, it was called with 0"):
        delegate.execute([])
    with pytest.raises(InvalidArgumentError, match=r"is INT8 \[4, 5\], it got torch.float32"):
        delegate.execute([torch.zeros(4, 5)])


@needs_model
def test_the_reference_model_stands_in_by_name(run):
    x = waves(4, 5)
    assert torch.equal(run.run(x, path="device:tosa"), run.run(x, path="native"))


@needs_model
def test_times_of_the_reference_model_are_no_device_s(run, tmp_path):
    x = waves(4, 5)
    report = run.profile(x, runs=2, warmup=1)
    assert report.stand_ins == [f"TOSABackend: {TOSABackend.times}"]
    assert "no device's times: TOSABackend: TOSA's reference model" in str(report)
    sweep = etlab.sweep(
        nn.Linear(5, 3).eval(),
        (x,),
        partitioners=["tosa", "none"],
        quantizers=["int8-arm"],
        calibration=[(x,)],
        workers=0,
        file=tmp_path / "sweep.parquet",
    )
    assert [row.values["latency"] is None for row in sweep.rows] == [True, False]
