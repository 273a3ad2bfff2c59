"""Profiles: what is counted, what is kept apart, and what is drawn. Times themselves are nobody's
promise here."""

import json
import xml.etree.ElementTree as ElementTree

import pytest
import torch
from torch import nn

import etlab
from etlab import errors
from etlab.inspect.profile_rows import Samples, percentile
from etlab.runtime import thread_count


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(self.second(torch.relu(self.first(x))), 2).values.cumsum(1)


@pytest.fixture(scope="module", params=["none", "xnnpack"])
def run(request) -> etlab.ExportRun:
    partitioner = None if request.param == "none" else request.param
    return etlab.export(Net().eval(), (torch.randn(2, 5),), partitioner=partitioner, name="net")


@pytest.fixture(scope="module")
def report(run):
    return run.profile(runs=3, warmup=2, threads=1)


def test_every_run_is_in_every_row(report):
    assert (report.runs, len(report.warm_up.seconds), report.threads) == (3, 2, 1)
    for row in report.rows:
        assert len(row.samples.seconds) == 3
        assert row.samples.least <= row.samples.p50 <= row.samples.p90


def test_sum_of_instructions_is_never_more_than_the_traced_run(report):
    for number in range(3):
        parts = sum(row.samples.seconds[number] for row in report.instructions)
        assert 0 < parts <= report.traced.seconds[number]
        inside = sum(row.samples.seconds[number] for row in report.rows if row.part)
        assert inside <= parts
    text = str(report)
    assert "end to end: p50" in text
    assert "sum of the instructions" in text


def test_rows_say_where_they_come_from(run, report):
    linear = [row for row in report.leaves if row.flops]
    assert {row.module for row in linear} == {"first", "second"}
    assert sum(row.flops for row in linear) == 2 * 2 * (5 * 7 + 7 * 3)
    assert all("test_profile.py" in row.source for row in linear)
    weights = 4 * (7 * 5 + 7 + 2 * 5 + 2 * 7)
    first = next(row for row in linear if row.module == "first")
    assert first.nbytes == weights
    assert first.roof == report.roofline.seconds(first.flops, first.nbytes)
    assert first.gflops == pytest.approx(first.flops / first.samples.p50 / 1e9)
    backends = {row.backend for row in report.rows}
    assert backends == ({""} if run.partitioner == "none" else {"", "XnnpackBackend"})


def test_groups_hold_every_leaf_once(report):
    for groups in (report.by_operator, report.by_module, report.by_source, report.by_node):
        assert sum(group.rows for group in groups) == len(report.leaves)
        assert groups[0].p50_ms == max(group.p50_ms for group in groups)
    assert {group.name for group in report.by_module} >= {"first", "second"}


def test_frame_has_a_row_for_each_row(report):
    frame = report.to_dataframe()
    assert len(frame) == len(report.rows)
    assert {"node", "module", "source", "p50_ms", "p90_ms", "gflops", "gbps"} <= set(frame.columns)


def test_trace_for_viewers_nests_what_ran(report, tmp_path):
    report.save_chrome_trace(tmp_path / "trace.json")
    trace = json.loads((tmp_path / "trace.json").read_text())
    events = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    runs = [event for event in events if event["cat"] == "run"]
    assert [event["name"] for event in runs] == ["run 0", "run 1", "run 2"]
    assert runs[0]["ts"] == 0
    for event in events:
        outer = [r for r in runs if r["ts"] <= event["ts"] <= r["ts"] + r["dur"]]
        assert len(outer) == 1
        assert event["ts"] + event["dur"] <= outer[0]["ts"] + outer[0]["dur"] + 1e-3
    assert len(events) == 3 * (1 + len(report.rows))


def test_picture_is_well_formed_and_names_end_to_end(report):
    root = ElementTree.fromstring(report.to_svg())
    assert root.tag.endswith("svg")
    text = " ".join(root.itertext())
    assert "end to end" in text
    assert "GFLOP/s" in text
    assert "Profile of net" in report._repr_html_()


def test_thread_setting_is_given_back(run):
    before = thread_count()
    assert run.profile(runs=1, warmup=0, threads=before + 1).threads == before + 1
    assert thread_count() == before
    with pytest.raises(errors.EtlabError):
        run.profile([torch.zeros(1)], runs=1, threads=before + 1)
    assert thread_count() == before


def test_counts_out_of_range_are_refused(run):
    for counts in ({"runs": 0}, {"warmup": -1}):
        with pytest.raises(errors.InvalidArgumentError, match="runs of 1 or more"):
            run.profile(**counts)


def test_files_are_profiled_without_a_graph(run):
    report = run.file.profile((torch.randn(2, 5),), runs=2)
    names = [row.operator for row in report.instructions]
    assert "topk.values" in names
    assert all(row.flops is None for row in report.rows)
    assert "end to end" in repr(report)
    ElementTree.fromstring(report.to_svg())


def test_loops_are_summed_and_counted():
    class Rows(nn.Module):
        def forward(self, x):
            from torch._higher_order_ops.map import map as torch_map

            return torch_map(lambda row: row.relu() + 1, x)

    run = etlab.export(Rows(), (torch.randn(4, 3),))
    report = run.profile(runs=2, warmup=0)
    rows = [row for row in report.rows if "map" in row.node]
    assert rows
    assert any(row.calls >= 4 for row in rows)


def test_percentiles_lie_between_neighbours():
    assert percentile([3.0], 0.9) == 3.0
    assert percentile([4.0, 1.0, 2.0], 0.5) == 2.0
    samples = Samples((1.0, 2.0, 3.0, 4.0, 5.0))
    assert (samples.p50, samples.p90, samples.least, samples.mean) == (3.0, 4.6, 1.0, 3.0)
    assert samples.spread == pytest.approx(4.6 / 3 - 1)
