import json

import pytest
from exir.lowering import Mlp, lower, seeded

from etlab.errors import AccessError
from etlab.util.activation_memory_profiler import generate_memory_trace


@pytest.fixture(scope="module")
def program():
    return lower(Mlp(), seeded(2, 5))


@pytest.mark.parametrize("at_offsets", [False, True])
def test_every_tensor_stands_at_each_step_where_it_is_alive(program, tmp_path, at_offsets):
    path = tmp_path / "plan.json"
    generate_memory_trace(program, path, enable_memory_offsets=at_offsets)
    plan = program.memory_plan()
    events = json.loads(path.read_text())["traceEvents"]
    alive = sum(tensor.last_use - tensor.first_use + 1 for tensor in plan.tensors)
    assert len(events) == alive > len(plan.tensors)
    for step, live in enumerate(plan.live_bytes):
        own = [event for event in events if event["tid"] == step]
        assert sum(event["dur"] for event in own) == live
        if at_offsets:
            assert {e["ts"] for e in own} == {t.offset for t in plan.at(step)}
        else:
            assert sum(e["dur"] for e in own) == max(e["ts"] + e["dur"] for e in own)
    assert all(event["args"]["op_name"] for event in events)


def test_sources_can_be_left_out(program, tmp_path):
    path = tmp_path / "plan.json"
    generate_memory_trace(program, str(path), ommit_metadata=True)
    keys = {key for event in json.loads(path.read_text())["traceEvents"] for key in event["args"]}
    assert keys == {"bytes", "Memory ID"}


def test_a_place_that_cannot_be_written_is_named(program, tmp_path):
    with pytest.raises(AccessError, match="nowhere"):
        generate_memory_trace(program, tmp_path / "nowhere" / "plan.json")
