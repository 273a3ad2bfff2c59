"""What Vela expects of an NPU in the reports: there, marked, and never among measured times."""

import functools

import pytest
import torch
from torch import nn
from tosa_checks import lowered_run, waves

import etlab
from etlab.errors import InvalidArgumentError, InvalidProgramError, NotSupportedError
from etlab.inspect.graph_reports import report_values
from etlab.models import efficientnet_lite0, photographs
from etlab.sweeping.objectives import find_objective
from etlab.widgets.memory_plan_view import MemoryPlanView
from etlab.widgets.profile_view import ProfileView

pytest.importorskip("ethosu", reason="ethos-u-vela is not installed")

PICTURE = waves(1, 3, 9, 7)
MARK = "nobody measured"


class Layers(nn.Module):
    """For the NPU, with a sum whose result is written over its input."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.last = nn.Linear(8, 5)

    def forward(self, x):
        x = self.first(x).relu()
        return self.last((x + self.second(x)).mean((2, 3)))


@functools.cache
def layers(partitioner="ethos-u55-128"):
    return lowered_run(Layers(), PICTURE, partitioner=partitioner, name="layers")


def test_a_profile_of_what_cannot_run_here_is_an_estimate_and_says_so():
    run = layers()
    profile, estimate = run.profile(), run.estimates().parts[0].estimate
    assert profile.end_to_end.p50 == estimate.seconds
    for text in (repr(profile), str(profile), profile._repr_html_()):
        assert "Vela" in text
        assert "not measured" in text
    assert "estimated, not measured" in profile.to_svg()
    inner = [row for row in profile.rows if row.part]
    assert {"first", "second", "last"} <= {row.module for row in inner}
    assert sum(row.samples.p50 for row in inner) == pytest.approx(
        sum(one.cycles for one in estimate.operators) / estimate.clock
    )
    assert len(profile.to_dataframe()) == len(profile.rows)
    trace = profile.chrome_trace()
    assert MARK in trace["otherData"]["estimated"]
    kinds = [event["cat"] for event in trace["traceEvents"] if "cat" in event]
    assert kinds == ["estimated delegate", *["estimated node"] * len(inner)]


def test_measured_and_estimated_profiles_are_not_compared():
    measured = layers("xnnpack").profile(runs=1, warmup=0)
    estimated = layers().profile()
    assert not measured.estimated
    assert not measured.estimates
    for pair in ((measured, estimated), (estimated, measured)):
        with pytest.raises(InvalidArgumentError, match=MARK):
            pair[0].versus(pair[1])
    assert estimated.versus(layers("ethos-u85-256").profile())[0].name == "end to end"


def test_delegation_memory_and_size_tell_what_the_device_needs():
    run = layers()
    (part,) = run.estimates().parts
    sram = part.estimate.memory("SRAM")
    for report in (run.delegation(), run.memory_plan(), run.size()):
        for text in (str(report), report._repr_html_()):
            assert MARK in text
            assert "ethos-u55-128" in text
            assert "SRAM" in text
    overlay = report_values(run.delegation())
    assert (overlay.name, min(overlay.values.values()) > 0) == ("cycles, estimated", True)
    assert report_values(run.profile()).name == "latency, estimated"
    frame = run.delegation().to_dataframe().set_index("node")
    assert frame.cycles["convolution_default"] > 0
    (device,) = run.memory_plan().devices
    device.check()
    assert 0 < device.peak <= sram
    memories = run.estimates().memories.to_dataframe()
    assert dict(zip(memories.memory, memories.used, strict=True))["SRAM"] == sram


def test_reports_of_programs_without_estimates_say_nothing_of_devices():
    run = layers("xnnpack")
    assert not run.estimates()
    assert run.memory_plan().devices == ()
    for report in (run.estimates(), run.delegation(), run.memory_plan(), run.size()):
        assert MARK not in str(report)
        assert MARK not in report._repr_html_()


def test_a_saved_program_tells_the_same(tmp_path):
    run = layers()
    file = etlab.load(run.save(tmp_path / "layers.pte"))
    assert [p.estimate for p in file.estimates().parts] == [
        p.estimate for p in run.estimates().parts
    ]
    assert file.profile(PICTURE).end_to_end == run.profile().end_to_end
    assert MARK in str(file.size())
    (tmp_path / "layers.host.ptd").unlink()
    alone = etlab.load(tmp_path / "layers.pte")
    assert not alone.estimates()
    with pytest.raises(NotSupportedError, match="made for ethos-u55-128"):
        alone.profile(PICTURE)
    (tmp_path / "layers.host.ptd").write_bytes(b"damaged" * 9)
    with pytest.raises(InvalidProgramError, match=r"'layers\.host\.ptd'.*delete it"):
        etlab.load(tmp_path / "layers.pte")


def test_views_draw_estimates():
    run = layers()
    view = ProfileView(run.profile())
    assert MARK in view._content()["report"]["estimated"]
    (device,) = run.memory_plan().devices
    assert MemoryPlanView(device).report is device


def test_a_sweep_has_estimates_apart_from_latency():
    run = layers()
    samples = [(PICTURE,)]
    assert find_objective("latency").measure(run, samples) is None
    assert find_objective("estimate").measure(run, samples) == run.estimates().seconds * 1e3
    assert find_objective("estimate").measure(layers("xnnpack"), samples) is None


def test_a_sweep_judges_what_stands_in_for_the_npu(tmp_path):
    pytest.importorskip("tosa_reference_model", reason="tosa-tools is not installed")
    found = etlab.sweep(
        Layers().eval(),
        PICTURE,
        partitioners=["xnnpack", "ethos-u55-128"],
        quantizers=["int8-arm"],
        objectives=("size", "latency", "estimate"),
        calibration=[(PICTURE,), (PICTURE * 0.7 + 0.1,)],
        file=tmp_path / "sweep.parquet",
        workers=0,
    )
    cpu, npu = found.rows
    assert (cpu.status, npu.status) == ("ok", "ok")
    assert npu.values["sqnr_db"] > 20
    assert npu.values["latency"] is None
    assert npu.values["estimate"] > 0
    assert cpu.values["estimate"] is None
    assert "estimate" in str(found)


def test_a_report_of_the_run_has_a_section_of_estimates(tmp_path):
    page = etlab.report(layers(), path=tmp_path / "layers.html").read_text()
    assert "Estimate report: layers" in page
    assert MARK in page


def test_the_bench_shows_estimates():
    data = [(PICTURE,), (PICTURE * 0.7 + 0.1,)]
    bench = etlab.Workbench(
        Layers(), PICTURE, partitioner="ethos-u55-128", quantizer="int8-arm", calibration=data,
        on_change=False,
    )  # fmt: skip
    bench.lower_and_run()
    for place, panel in enumerate(bench.panels):
        bench.tabs.selected_index = place
        assert bench.wait(60)
        assert panel.report is not None, panel.kind.title
    assert bench.panels[4].report.estimated


@pytest.mark.parametrize("target", ["ethos-u55-128", "ethos-u85-256"])
def test_efficientnet_is_one_command_stream(target):
    model = efficientnet_lite0.load()
    data = [(crop[None],) for crop in photographs.crops(2)]
    run = etlab.export(model, data[0], quantizer="int8-arm", calibration=data, partitioner=target)
    report = run.delegation()
    assert len(report.parts) == 1
    assert report.coverage > 0.99
    (part,) = run.estimates().parts
    assert part.estimate.macs > 380e6
    assert part.estimate.device == target
    assert {one.unit for one in part.estimate.operators} == {"NPU"}
    named = [one for one in part.estimate.operators if one.node]
    assert len(named) > 0.9 * len(part.estimate.operators)
    (device,) = run.memory_plan().devices
    device.check()
