import itertools

import pytest
import torch

from etlab import errors
from etlab.runtime import Runtime
from etlab.testing import assert_same


def test_trace_names_every_instruction_in_order(load, example):
    _, args, _ = example("mlp")
    method = load("mlp").load_method("forward")
    with method.trace() as events:
        method.execute(args)
    assert [event.instruction for event in events] == list(range(len(events)))
    assert [event.name for event in events] == [s.name for s in method.metadata.instructions]
    assert all(event.duration >= 0 for event in events)
    assert all(a.start <= b.start for a, b in itertools.pairwise(events))
    assert all(event.result is None for event in events)


def test_trace_can_keep_what_instructions_returned(load, example):
    module, (x,), _ = example("mlp")
    method = load("mlp").load_method("forward")
    with method.trace(results=True) as events:
        method.execute([x])
    relu = next(event for event in events if event.name == "aten::relu.out")
    assert_same(relu.result, torch.relu(module.first(x)).detach())
    assert_same(events[-1].result, module(x).detach())


def test_runs_outside_the_block_are_not_traced(load, example):
    _, args, _ = example("mlp")
    method = load("mlp").load_method("forward")
    with method.trace() as events:
        method.execute(args)
        method.execute(args)
    count = len(events)
    method.execute(args)
    assert len(events) == count == 2 * method.metadata.num_instructions()


def test_runs_have_times_of_their_own(load, example):
    _, args, _ = example("mlp")
    method = load("mlp").load_method("forward")
    with method.trace() as trace:
        method.execute(args)
        assert len(trace.runs) == 1
        method.execute(args)
    assert len(trace.runs) == 2
    for run in trace.runs:
        assert run.start <= run.events[0].start
        assert sum(event.duration for event in run.events) <= run.duration
    assert trace.load_seconds > 0
    assert list(trace.to_dataframe().run) == [0] * len(trace.runs[0].events) + [1] * len(
        trace.runs[1].events
    )
    assert repr(trace) == f"EventTrace(forward: 2 runs, {len(trace)} events)"


def test_results_of_several_outputs_are_kept_one_by_one(load, example):
    _, (x,), _ = example("sorted")
    method = load("sorted").load_method("forward")
    with method.trace(results=True) as trace:
        outputs = method.execute([x])
    wanted = torch.topk(x, 900)
    event = next(event for event in trace if event.name.startswith("aten::topk"))
    assert_same(event.results[0], wanted.values)
    assert len(event.results) == len(event.result) == 2
    assert_same(trace.runs[0].outputs[0], outputs[0])


def test_failing_run_leaves_no_trace(load, example):
    _, args, _ = example("mlp")
    method = load("mlp").load_method("forward")
    with method.trace() as trace:
        with pytest.raises(errors.InvalidArgumentError):
            method.execute([torch.zeros(1)])
        method.execute(args)
    assert len(trace.runs) == 1


def test_branch_that_is_not_taken_is_not_in_the_trace(load, example, compiler):
    _, (_, x), _ = example("branches")
    method = load("branches", compiler).load_method("forward")
    names = {}
    for flag in (True, False):
        with method.trace() as events:
            method.execute([torch.tensor(flag), x])
        names[flag] = " ".join(event.name for event in events)
    assert "aten::add." in names[True]
    assert "aten::mul." in names[False]
    assert "aten::mul." not in names[True]


def test_failing_kernel_is_named_with_instruction_and_arguments(compiled):
    # A valid program that calls the wrong operator: flip wants a list where relu has its output.
    program = Runtime.get().load_program(compiled("mlp").replace(b"aten::relu", b"aten::flip"))
    method = program.load_method("forward")
    with pytest.raises(errors.EtlabError) as caught:
        method.execute([torch.zeros(2, 5)])
    message = str(caught.value)
    assert "method 'forward', instruction" in message
    assert "aten::flip.out(Tensor float32[2, 7], Tensor float32[2, 7])" in message
    assert "argument 1: expected list of int, got Tensor float32[2, 7]" in message


def test_source_lines_are_found_where_the_program_has_them():
    exir = pytest.importorskip("executorch.exir", reason="executorch is not installed")

    class Model(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x)

    exported = torch.export.export(Model(), (torch.ones(3),))
    config = exir.ExecutorchBackendConfig(emit_stacktrace=True)
    data = bytes(exir.to_edge(exported).to_executorch(config).buffer)
    lines = Runtime.get().load_program(data).instruction_source("forward", 0)
    assert "test_trace.py" in lines[-1]
    assert "torch.relu(x)" in lines[-1]
