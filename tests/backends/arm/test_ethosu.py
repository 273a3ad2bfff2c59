"""Ethos-U: compiled by Vela, looked at, refused on this machine, run by a stand-in."""

import functools
import importlib.util

import pytest
import torch
from torch import nn
from tosa_checks import delegates, lowered_run, waves

import etlab
from etlab.backends.arm import EthosUCompileSpec, EthosUPartitioner
from etlab.backends.arm.ethosu import VelaExternalBlockPlacements, vela
from etlab.backends.arm.ethosu.compile_spec import TARGETS, read_compile_specs
from etlab.backends.arm.ethosu.stream import read_stream
from etlab.errors import (
    BackendMissingError,
    InterruptedExecutionError,
    InvalidArgumentError,
    LoweringError,
    NotSupportedError,
)
from etlab.exir import stages
from etlab.exir.partition.host_only import host_file

pytest.importorskip("ethosu", reason="ethos-u-vela is not installed")

PICTURE = waves(1, 3, 9, 7)


class Layers(nn.Module):
    """Two convolutions, a mean, a linear layer."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.deep = nn.Conv2d(8, 8, 3, groups=8)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        return self.last(self.deep(self.first(x).relu()).mean((2, 3)))


@functools.cache
def layers(partitioner="ethos-u55-128"):
    return lowered_run(Layers(), PICTURE, partitioner=partitioner, name="layers")


@pytest.mark.parametrize("target", TARGETS)
def test_compile_specs_are_read_as_they_were_written(target):
    placements = VelaExternalBlockPlacements(weight_data="flash")
    for spec in (
        EthosUCompileSpec(target),
        EthosUCompileSpec(target, "Mine", "Fast", ("--optimise=Size",), "mine.ini", placements),
    ):
        again = read_compile_specs({one.key: one.value for one in spec.to_list()})
        assert again.to_list() == spec.to_list()
        assert again.compiler_flags == spec.compiler_flags


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (("ethos-u55-127",), "no target 'ethos-u55-127'"),
        (("ethos-u55-128", "a b"), "without spaces"),
        (("ethos-u55-128", None, None, ("optimise",)), "options of Vela"),
    ],
)
def test_options_that_vela_would_misread_are_refused(arguments, reason):
    with pytest.raises(InvalidArgumentError, match=reason):
        EthosUCompileSpec(*arguments)


def test_the_whole_model_is_one_command_stream():
    run = layers()
    (delegate,) = delegates(run)
    stream = read_stream(delegate.processed_bytes)
    assert [(one.shape[3:], one.element_size) for one in stream.inputs] == [((3, 9, 7), 1)]
    assert [one.nbytes for one in stream.outputs] == [5]
    assert stream.scratch >= 3 * 9 * 7
    text = run.file.delegate_text()
    assert "Ethos-U55-128" in text
    assert "depthwise convolution" in text


def test_estimates_name_the_operators_of_the_model():
    (delegate,) = delegates(layers())
    estimate = delegate.estimate
    assert estimate.device == "ethos-u55-128"
    nodes = {one.node for one in estimate.operators}
    assert {"convolution_default", "convolution_default_1", "linear_default"} <= nodes
    assert estimate.macs >= 3 * 8 * 9 * 9 * 7
    assert estimate.memory("SRAM") == read_stream(delegate.processed_bytes).scratch
    assert estimate.seconds == estimate.cycles / 500e6
    assert all(one.cycles > 0 and 0 <= one.utilization <= 1 for one in estimate.operators)
    assert all(one.offset + one.nbytes <= estimate.memory("SRAM") for one in estimate.tensors)


def test_other_sizes_of_npu_need_other_cycles():
    cycles = [
        delegates(layers(f"ethos-u:target={target}"))[0].estimate.cycles
        for target in ("ethos-u55-32", "ethos-u55-128")
    ]
    assert cycles[0] > cycles[1]


def test_programs_refuse_to_run_with_the_way_out():
    with pytest.raises(NotSupportedError, match=r"made for ethos-u55-128.*path='device:tosa'"):
        layers().run(PICTURE)
    parity = layers().parity(PICTURE, paths=["native"], layers=False)
    (row,) = [row for row in parity.rows if row.path == "native"]
    assert "Traceback" not in row.reason
    assert "Arm's FVP" in row.reason


def test_the_reference_model_stands_in():
    pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")
    run = layers()
    assert run.paths[-1] == "device:tosa"
    report = run.parity(PICTURE, reference="quantized", simulate="arm", layers=False)
    (row,) = [row for row in report.rows if row.path == "device:tosa"]
    assert row.status == "ok"
    assert row.values["max_abs"] == 0


def test_what_stands_in_and_estimates_survive_saving(tmp_path):
    pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")
    run = layers()
    path = run.save(tmp_path / "kws.pte")
    assert host_file(path).is_file()
    assert path.stat().st_size == len(run.file.data)
    file = etlab.load(path)
    assert file.tensor_data == {}
    assert file.host_data == run.file.host_data
    assert file.size().total == path.stat().st_size
    host_file(path).unlink()
    alone = etlab.load(path)
    assert "Ethos-U55-128" in alone.delegate_text()


def test_a_stand_in_without_its_graph_says_what_is_missing():
    from etlab.runtime import Runtime, standing_in

    program = Runtime.get().load_program(layers().file.data)
    with standing_in("tosa"), pytest.raises(Exception, match=r"<name>\.host\.ptd"):
        program.load_method("forward")


def test_weights_may_lie_in_a_file_of_their_own():
    placements = VelaExternalBlockPlacements(weight_data="flash")
    spec = EthosUCompileSpec("ethos-u55-128", external_block_placements=placements)
    run = lowered_run(Layers(), PICTURE, partitioner=EthosUPartitioner(spec))
    (delegate,) = delegates(run)
    stream = read_stream(delegate.processed_bytes)
    assert not stream.weights
    assert delegate.named_data[stream.outside["weight_data"]]
    assert list(run.file.tensor_data) == ["flash.ptd"]


def test_calls_that_the_npu_refuses_stay_with_a_reason_and_a_remedy():
    module = nn.Sequential(nn.Conv2d(3, 4, 1), nn.Conv2d(4, 4, 2, 4, groups=4))
    rejected = lowered_run(module, waves(1, 3, 9, 8), partitioner="ethos-u55-128").delegation()
    (row,) = [row for row in rejected.rejected if "convolution" in row.operator]
    assert "steps by at most 3" in row.reason
    assert "Ethos-U85" in row.help
    whole = lowered_run(module, waves(1, 3, 9, 8), partitioner="ethos-u85-256").delegation()
    assert not [row for row in whole.rejected if "convolution" in row.operator]


def test_without_vela_the_choice_is_shown_and_refused_with_the_package(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "ethosu" else found(name)
    )
    missing = etlab.list_partitioners().to_dataframe().set_index("name").missing
    assert "pip install 'etlab[arm]'" in missing["ethos-u55-128"]
    assert not missing["tosa"]
    with pytest.raises(BackendMissingError, match=r"ethos-u-vela.*pip install 'etlab\[arm\]'"):
        lowered_run(Layers(), PICTURE, partitioner="ethos-u55-128")


def test_velas_own_refusal_is_told_in_its_words():
    with pytest.raises(LoweringError, match=r"ethos-u55-128 \(Nowhere, Shared_Sram\).*Nowhere"):
        lowered_run(Layers(), PICTURE, partitioner="ethos-u55-128:system_config=Nowhere")


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import os; os.kill(os.getpid(), 11)", "crashed with signal 11"),
        ("print('ready')", "wrote is not what this version of etlab reads"),
        ("raise SystemExit(3)", "does not say why"),
    ],
)
def test_a_compiler_that_dies_or_is_another_takes_nothing_along(
    program, reason, tmp_path, monkeypatch
):
    (tmp_path / "another_vela.py").write_text(program)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.setattr(vela, "_MODULE", "another_vela")
    with pytest.raises(LoweringError, match=reason):
        vela.compile_graph(b"TOSA", EthosUCompileSpec("ethos-u55-128"))


def test_a_stop_request_ends_vela():
    compiling = []
    listener = stages.StageListener(
        on_start=lambda name: compiling.append(name) if name == "vela" else None,
        should_stop=lambda: bool(compiling),
    )
    with stages.listen(listener), pytest.raises(InterruptedExecutionError, match="Vela"):
        lowered_run(Layers(), PICTURE, partitioner="ethos-u55-128")


def test_the_npu_comes_first_and_xnnpack_takes_the_rest_with_the_borders_told():
    pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")
    torch.manual_seed(0)
    module = nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 2, 4, groups=4), nn.Conv2d(4, 5, 1)
    )
    picture = waves(1, 3, 9, 8)
    run = lowered_run(module, picture, partitioner=["ethos-u55-128", "xnnpack"])
    report = run.delegation()
    assert [part.backend for part in report.parts if part.operators] == [
        "EthosUBackend", "XnnpackBackend", "EthosUBackend"
    ]  # fmt: skip
    first, middle, last = [part.name for part in report.parts]
    crossing = {(row.made_by, row.used_by): row.nbytes for row in report.borders}
    assert crossing[first, middle] == 4 * 9 * 8
    assert crossing[middle, last] == 4 * 2 * 2
    torch.testing.assert_close(
        run.run(picture, path="device:tosa"), run.run(picture, path="quantized"), atol=0.1, rtol=0
    )
