"""ETDumps that the runtime writes, read back."""

import pytest
import torch
from small_models import Mlp

from etlab import errors
from etlab.devtools.etdump import ETDump, Event, ProfileEvent, RunData, read_etdump, write_etdump
from etlab.exir import to_edge
from etlab.runtime import Runtime


@pytest.fixture(scope="module")
def program_bytes() -> bytes:
    exported = torch.export.export(Mlp(), (torch.ones(2, 5),))
    return bytes(to_edge(exported).to_executorch().buffer)


def names(run: RunData) -> list[str]:
    return [
        event.profile_event.name or ""
        for event in run.events or ()
        if event.profile_event is not None
    ]


def test_a_dump_holds_the_load_and_every_run_under_the_official_names(program_bytes, tmp_path):
    program = Runtime.get().load_program(program_bytes, enable_etdump=True)
    method = program.load_method("forward")
    x = torch.ones(2, 5)
    method.execute([x])
    method.execute([x])
    program.write_etdump_result_to_file(tmp_path / "run.etdp")
    load, first, second = read_etdump((tmp_path / "run.etdp").read_bytes()).run_data
    assert (load.name, first.name, second.name) == ("Default", "Execute", "Execute")
    assert names(load) == ["Method::init", "Program::load_method"]
    instructions = method.metadata.instructions
    operators = [i.name.partition("::")[2] for i in instructions]
    pairs = [name for o in operators for name in (f"native_call_{o}", "OPERATOR_CALL")]
    assert names(first) == names(second) == [*pairs, "Method::execute"]
    events = [event.profile_event for event in first.events]
    assert [e.instruction_id for e in events[:-1:2]] == list(range(len(instructions)))
    assert (events[-1].chain_index, events[-1].instruction_id) == (-1, 0)
    assert events[-1].start_time <= events[0].start_time <= events[-1].end_time


def test_a_written_dump_starts_afresh(program_bytes, tmp_path):
    program = Runtime.get().load_program(program_bytes, enable_etdump=True)
    method = program.load_method("forward")
    for runs in (1, 2):
        for _ in range(runs):
            method.execute([torch.ones(2, 5)])
        program.write_etdump_result_to_file(tmp_path / "run.etdp")
        dump = read_etdump((tmp_path / "run.etdp").read_bytes())
        assert len(dump.run_data) == 1 + runs


def test_results_lie_in_the_debug_buffer_however_large(program_bytes, tmp_path):
    program = Runtime.get().load_program(program_bytes, enable_etdump=True, debug_buffer_size=1)
    (output,) = program.load_method("forward").execute([torch.ones(2, 5)])
    program.write_etdump_result_to_file(tmp_path / "run.etdp", tmp_path / "run.bin")
    run = read_etdump((tmp_path / "run.etdp").read_bytes()).run_data[1]
    last = run.events[-1].debug_event
    assert last.debug_entry.output.bool_val
    tensor = last.debug_entry.tensor
    assert tensor.sizes == tuple(output.shape)
    data = (tmp_path / "run.bin").read_bytes()
    elements = torch.frombuffer(
        bytearray(data), dtype=torch.float32, offset=tensor.offset, count=output.numel()
    )
    assert torch.equal(elements.view(output.shape), output)


def test_dataclasses_write_the_same_dump(program_bytes):
    dump = ETDump(run_data=(RunData("Execute", events=(Event(ProfileEvent("x", end_time=3)),)),))
    assert read_etdump(write_etdump(dump)) == dump
    method = Runtime.get().load_program(program_bytes).load_method("forward")
    with method.trace(results=True) as trace:
        method.execute([torch.ones(2, 5)])
    ours = read_etdump(trace.to_etdump()[0])
    assert read_etdump(write_etdump(ours)) == ours


def test_damaged_dumps_are_refused_in_words(program_bytes):
    method = Runtime.get().load_program(program_bytes).load_method("forward")
    with method.trace() as trace:
        method.execute([torch.ones(2, 5)])
    data = trace.to_etdump()[0]
    for cut in (0, 3, 4, 9, len(data) // 2, len(data) - 1):
        with pytest.raises(errors.InvalidProgramError):
            read_etdump(data[:cut])
    for place in range(0, len(data), 5):
        damaged = bytearray(data)
        damaged[place] ^= 0xFF
        try:
            read_etdump(damaged)
        except errors.InvalidProgramError:
            continue


def test_a_place_that_cannot_be_written_is_named(program_bytes, tmp_path):
    method = Runtime.get().load_program(program_bytes).load_method("forward")
    with method.trace() as trace:
        method.execute([torch.ones(2, 5)])
    with pytest.raises(errors.AccessError, match=r"cannot write '.*no.*run\.etdp'"):
        trace.save(tmp_path / "no" / "run.etdp")


def test_tensors_of_any_layout_are_written_row_by_row():
    class Picture(torch.nn.Module):
        def forward(self, x):
            return torch.relu(x + 1)

    x = torch.randn(2, 3, 5, 7).to(memory_format=torch.channels_last)
    program = to_edge(torch.export.export(Picture(), (x,))).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    with method.trace(results=True) as trace:
        (output,) = method.execute([x])
    events, data = trace.to_etdump()
    tensor = read_etdump(events).run_data[1].events[-1].debug_event.debug_entry.tensor
    assert (tensor.sizes, tensor.strides) == ((2, 3, 5, 7), (105, 35, 7, 1))
    found = torch.frombuffer(
        bytearray(data), dtype=torch.float32, offset=tensor.offset, count=output.numel()
    )
    assert torch.equal(found.view(2, 3, 5, 7), output)
    assert torch.equal(output, torch.relu(x + 1))
