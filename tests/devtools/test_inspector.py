"""The Inspector over our own dumps and records."""

import io
import math

import pytest
import torch
from torch import nn

import etlab
from etlab import errors
from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.devtools import Inspector, NumericalComparatorBase, TimeScale
from etlab.devtools.etdump import (
    Bool,
    DebugEvent,
    ETDump,
    Event,
    ProfileEvent,
    RunData,
    Tensor,
    Value,
    ValueType,
    write_etdump,
)
from etlab.exir import to_edge_transform_and_lower
from etlab.exir.emit.scalar_type import ScalarType
from etlab.runtime import Runtime


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        return torch.topk(self.second(y), 2).values + 1.0


@pytest.fixture(scope="module", params=["portable", "xnnpack"])
def traced(request):
    """(model, input, record, trace of two runs)."""
    torch.manual_seed(0)
    model, x = Net().eval(), torch.randn(2, 5)
    partitioner = XnnpackPartitioner() if request.param == "xnnpack" else None
    program = to_edge_transform_and_lower(
        torch.export.export(model, (x,)), partitioner=partitioner, generate_etrecord=True
    ).to_executorch()
    record = program.get_etrecord()
    record.update_representative_inputs([x])
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    with method.trace(results=True) as trace:
        method.execute([x])
        method.execute([x])
    return model, x, record, trace


def test_every_event_has_a_time_for_every_run(traced):
    _, _, record, trace = traced
    inspector = Inspector(trace=trace, etrecord=record)
    load, runs = inspector.event_blocks
    assert [event.name for event in load.events] == ["Method::init", "Program::load_method"]
    assert runs.runs == 2
    for event in runs.events:
        assert len(event.perf_data.raw) == len(event.start_time) == 2
        assert event.perf_data.min <= event.perf_data.p50 <= event.perf_data.max
    assert runs.events[-1].name == "Method::execute"
    whole = runs.events[-1].perf_data.raw[0]
    calls = [e for e in runs.events if e.name in ("OPERATOR_CALL", "DELEGATE_CALL")]
    assert 0 < sum(event.perf_data.raw[0] for event in calls) <= whole


def test_events_know_their_operators_modules_and_lines(traced):
    _, _, record, trace = traced
    _, runs = Inspector(trace=trace, etrecord=record).event_blocks
    topk = next(event for event in runs.events if event.name == "native_call_topk.values")
    assert topk.op_types == ["aten.topk.default"]
    (line,) = topk.stack_traces.values()
    assert "test_inspector.py" in line
    linear = [event for event in runs.events if "aten.linear.default" in event.op_types]
    modules = {path for e in linear for m in e.module_hierarchy.values() for path, _ in m.values()}
    assert {"first", "second"} <= modules
    for event in runs.events:
        if event.is_delegated_op and event.debug_handles:
            assert event.delegate_backend_name == "XnnpackBackend"


def test_time_of_a_module_counts_a_delegates_nodes_once(traced):
    _, _, record, trace = traced
    inspector = Inspector(trace=trace, etrecord=record)
    total = inspector.find_total_for_module("L__self__")
    whole = inspector.event_blocks[1].events[-1].perf_data.avg
    assert 0 < inspector.find_total_for_module("first") < total <= whole
    assert inspector.find_total_for_module("no such module") == 0


def test_numbers_of_every_operator_are_compared_with_the_graph(traced):
    _, _, record, trace = traced
    inspector = Inspector(trace=trace, etrecord=record)
    for graph in (None, "exported_program"):
        frame = inspector.calculate_numeric_gap("L1", reference_graph=graph)
        operators = {name.split("_")[0] for names in frame.aot_ops for name in names}
        assert {"linear", "topk", "add"} <= operators
        assert all(gap < 1e-4 for gaps in frame.gap for gap in gaps)
        topk = next(row for row in frame.itertuples() if "topk" in row.aot_ops[0])
        assert len(topk.gap) == 2
        assert "test_inspector.py" in next(iter(topk.stacktraces.values()))
    snr = inspector.calculate_numeric_gap("snr")
    assert all(gap > 100 for gaps in snr.gap for gap in gaps)
    assert not inspector.calculate_numeric_gap("sqnr_db").empty


def test_a_wrong_weight_shows_in_the_gap(traced):
    _, x, record, trace = traced
    inspector = Inspector(trace=trace, etrecord=record)
    record.update_representative_inputs([x + 1])
    try:
        frame = inspector.calculate_numeric_gap("MSE")
    finally:
        record.update_representative_inputs([x])
    assert max(gap for gaps in frame.gap for gap in gaps) > 1e-3


def test_a_distance_of_the_users_is_asked(traced):
    class Count(NumericalComparatorBase):
        def element_compare(self, a, b):
            assert self.inspector is not None
            return float(torch.as_tensor(a).numel() - torch.as_tensor(b).numel())

    _, _, record, trace = traced
    frame = Inspector(trace=trace, etrecord=record).calculate_numeric_gap(Count())
    assert {gap for gaps in frame.gap for gap in gaps} == {0.0}


def test_tables_have_the_documented_columns(traced):
    _, _, record, trace = traced
    inspector = Inspector(trace=trace, etrecord=record, target_time_scale=TimeScale.US)
    frame = inspector.to_dataframe()
    assert list(frame.columns[:9]) == [
        "event_block_name", "event_name", "raw",
        *(f"{name} (us)" for name in ("p10", "p50", "p90", "avg", "min", "max")),
    ]  # fmt: skip
    assert "p50" in inspector.to_dataframe(include_units=False).columns
    text, tabs = io.StringIO(), io.StringIO()
    inspector.print_data_tabular(text)
    inspector.save_data_to_tsv(tabs)
    assert "Method::execute" in text.getvalue()
    assert "OPERATOR_CALL" not in text.getvalue()
    assert tabs.getvalue().count("\n") == text.getvalue().count("\n")
    assert "Inspector(2 runs" in repr(inspector)
    assert "Method::execute" in inspector._repr_html_()


def test_units_are_converted(traced):
    trace = traced[3]
    milliseconds = Inspector(trace=trace).event_blocks[1].events[-1].perf_data.avg
    seconds = Inspector(trace=trace, target_time_scale=TimeScale.S).event_blocks[1].events[-1]
    assert math.isclose(milliseconds, 1e3 * seconds.perf_data.avg)
    with pytest.raises(errors.InvalidArgumentError, match="cycles are no time"):
        Inspector(trace=trace, source_time_scale=TimeScale.CYCLES)


def test_what_is_missing_is_said(traced):
    _, _, record, trace = traced
    inspector = Inspector(trace=trace)
    with pytest.warns(UserWarning, match="without an ETRecord"):
        assert inspector.get_exported_program() is None
    with pytest.raises(errors.InvalidArgumentError, match="representative inputs"):
        inspector.calculate_numeric_gap("MSE")
    inspector = Inspector(trace=trace, etrecord=record)
    with pytest.raises(errors.InvalidArgumentError, match="no distance 'far'"):
        inspector.calculate_numeric_gap("far")
    with pytest.raises(errors.NotFoundError, match="no graph 'other'"):
        inspector.calculate_numeric_gap("MSE", reference_graph="other")
    with pytest.raises(errors.InvalidArgumentError, match="one of etdump_path"):
        Inspector()
    without = Inspector(etdump_data=trace.to_etdump()[0], etrecord=record)
    with pytest.raises(errors.InvalidArgumentError, match="debug_buffer_path"):
        without.calculate_numeric_gap("MSE")


def profile(name: str, start: int, end: int, instruction: int = 0) -> Event:
    return Event(ProfileEvent(name, 0, instruction, start_time=start, end_time=end))


def test_what_runs_several_times_in_a_run_is_summed():
    loop = RunData("Execute", events=(profile("a", 0, 2), profile("b", 2, 3), profile("a", 3, 6)))
    dump = write_etdump(ETDump(run_data=(loop,)))
    inspector = Inspector(etdump_data=dump, target_time_scale=TimeScale.NS)
    times = {event.name: event.perf_data.raw for event in inspector.event_blocks[0].events}
    assert times == {"a": [5], "b": [1]}


def test_runs_on_other_branches_are_other_blocks():
    runs = [
        RunData("Execute", events=(profile(name, 0, 1), profile("end", 1, 2, 1)))
        for name in ("left", "right", "left")
    ]
    blocks = Inspector(etdump_data=write_etdump(ETDump(run_data=tuple(runs)))).event_blocks
    assert [(block.events[0].name, block.runs) for block in blocks] == [("left", 2), ("right", 1)]


def test_clocks_of_32_bits_wrap():
    run = RunData("Execute", events=(profile("a", 2**32 - 5, 5),))
    inspector = Inspector(
        etdump_data=write_etdump(ETDump(run_data=(run,))), target_time_scale=TimeScale.NS
    )
    assert inspector.event_blocks[0].events[0].perf_data.raw == [10]


@pytest.mark.parametrize(
    "tensor",
    [
        Tensor(ScalarType.FLOAT, (3,), (1,), 4),
        Tensor(ScalarType.FLOAT, (3,), (1,), -1),
        Tensor(ScalarType.FLOAT, (3,), (2,), 0),
        Tensor(ScalarType.FLOAT, (2,), (-1,), 0),
        Tensor(ScalarType.FLOAT, (-1,), (1,), 0),
        Tensor(ScalarType.FLOAT, (1 << 40, 1 << 40), (1 << 40, 1), 0),
        Tensor(ScalarType.FLOAT, (3,), None, 0),
    ],
)
def test_tensors_outside_of_the_debug_buffer_are_refused(tensor, tmp_path):
    (tmp_path / "buffer").write_bytes(bytes(12))
    value = Value(ValueType.TENSOR, tensor, output=Bool(True))
    run = RunData("Execute", events=(Event(debug_event=DebugEvent(0, 0, value)),))
    with pytest.raises(errors.InvalidProgramError, match="damaged"):
        Inspector(
            etdump_data=write_etdump(ETDump(run_data=(run,))),
            debug_buffer_path=tmp_path / "buffer",
        )


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
def test_a_run_has_a_record_of_itself(partitioner, tmp_path):
    x = torch.randn(2, 5)
    run = etlab.export(Net().eval(), (x,), partitioner=partitioner)
    run.etrecord.save(tmp_path / "run.etrecord")
    method = run.file.program.load_method("forward")
    with method.trace(results=True) as trace:
        method.execute([x])
    for record in (run.etrecord, tmp_path / "run.etrecord"):
        frame = Inspector(trace=trace, etrecord=record).calculate_numeric_gap("L1")
        assert all(gap < 1e-4 for gaps in frame.gap for gap in gaps)
    (expected,) = run.etrecord.reference_outputs["forward"][0]
    torch.testing.assert_close(expected, run.model(x).detach())


class Fused(nn.Module):
    """Operators that share nodes, nodes that share operators, and pictures in another order."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 5, 3)
        self.second = nn.Conv2d(5, 5, 3, groups=5)
        self.third = nn.Linear(5, 4)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        y = nn.functional.relu6(self.second(y) + 1).mean((2, 3))
        return torch.topk(nn.functional.gelu(self.third(y), approximate="tanh"), 2).values


@pytest.mark.parametrize("quantizer", [None, "int8"])
def test_numbers_inside_of_delegates_are_compared_node_by_node(quantizer, tmp_path):
    torch.manual_seed(0)
    x = torch.randn(1, 3, 9, 9)
    run = etlab.export(Fused().eval(), (x,), partitioner="xnnpack", quantizer=quantizer)
    method = run.file.program.new_method("forward")
    with method.trace(results=True) as trace:
        method.execute([x])
    trace.save(tmp_path / "run.etdp", tmp_path / "run.bin", run.etrecord.value_orders())
    run.etrecord.save(tmp_path / "run.etrecord")
    inspectors = [
        Inspector(trace=trace, etrecord=run.etrecord),
        Inspector(
            tmp_path / "run.etdp",
            debug_buffer_path=tmp_path / "run.bin",
            etrecord=tmp_path / "run.etrecord",
        ),
    ]
    for inspector in inspectors:
        frame = inspector.calculate_numeric_gap("L1")
        nodes = {name.split(" [")[0] for names in frame.runtime_ops for name in names}
        assert {"Conv2d", "DepthwiseConv2d", "FullyConnected"} <= nodes
        assert "DELEGATE_CALL" not in nodes
        assert all(gap < 2e-3 for gaps in frame.gap for gap in gaps), frame[["aot_ops", "gap"]]
        shapes = {
            tuple(value.shape) for value in frame.runtime_intermediate_output if len(value) == 1
        }
        assert (1, 5, 7, 7) in shapes
    events = {event.name: event for event in inspectors[1].event_blocks[1].events}
    convolution = next(event for name, event in events.items() if name.startswith("Conv2d"))
    if quantizer is None:
        assert convolution.op_types == ["aten.convolution.default", "aten.relu.default"]
    transposed = [event for name, event in events.items() if name.startswith("StaticTranspose")]
    assert all(event.debug_data == [] for event in transposed)


class Bordered(nn.Module):
    """A border of zeros that the runtime's convolution takes over from its quantization."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = nn.Conv2d(3, 5, 3, stride=2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.conv(nn.functional.pad(x, (0, 1, 0, 1)))


def test_no_value_is_held_against_another_one_where_a_border_moved():
    x = torch.randn(1, 3, 8, 8, generator=torch.Generator().manual_seed(0))
    run = etlab.export(
        Bordered().eval(), (x,), partitioner="xnnpack", quantizer="int8", calibration=[(x,), (-x,)]
    )
    method = run.file.program.new_method("forward")
    with method.trace(results=True) as trace:
        method.execute([x])
    frame = Inspector(trace=trace, etrecord=run.etrecord).calculate_numeric_gap("L1")
    names = [name for names in frame.runtime_ops for name in names]
    assert any(name.startswith("Conv2d") for name in names)
    assert all(gap < 1 for gaps in frame.gap for gap in gaps), frame[["aot_ops", "gap"]]


def test_a_block_has_a_table_of_its_own(traced):
    inspector = Inspector(trace=traced[3], etrecord=traced[2], target_time_scale=TimeScale.US)
    whole = inspector.to_dataframe()
    assert "p50 (us)" in whole.columns
    for block in inspector.event_blocks:
        own = block.to_dataframe()
        rows = whole[whole.event_block_name == block.name]
        assert list(own.event_name) == list(rows.event_name)
        assert list(own["p50 (us)"]) == list(rows["p50 (us)"])
    assert "p50" in inspector.event_blocks[0].to_dataframe(include_units=False).columns
