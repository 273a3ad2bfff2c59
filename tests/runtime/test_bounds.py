import json

import pytest
import torch
from exir.lowering import Mlp, lower, seeded
from torch.export import Dim

import etlab
from etlab import errors
from etlab.exir.emit.file import read_program
from etlab.numerics.official import OfficialRuntime, is_available
from etlab.runtime import Runtime
from etlab.runtime.bounds import KEY, read_bounds

SEQUENCE, BATCH = Dim("seq", min=2, max=16), Dim("batch", max=8)


class Sums(torch.nn.Module):
    def forward(self, x, pair, flag):
        return x.sum() + pair["y"].sum() * pair["z"].sum()


def _inputs(batch=3, sequence=4, doubled=None, other=None):
    doubled = 2 * sequence + 1 if doubled is None else doubled
    pair = {"y": torch.ones(doubled, 2), "z": torch.ones(batch if other is None else other, 5)}
    return torch.ones(batch, sequence), pair, True


@pytest.fixture(scope="module")
def run():
    shapes = ({0: BATCH, 1: SEQUENCE}, {"y": {0: 2 * SEQUENCE + 1}, "z": {0: BATCH}}, None)
    return etlab.export(Sums(), _inputs(), dynamic_shapes=shapes)


@pytest.fixture(scope="module")
def method(run):
    return Runtime.get().load_program(run.file.data).load_method("forward")


@pytest.mark.parametrize(("batch", "sequence"), [(3, 4), (1, 2), (8, 16), (0, 3)])
def test_sizes_within_the_bounds_run(method, batch, sequence):
    inputs = _inputs(batch, sequence)
    assert torch.equal(method(*inputs), Sums()(*inputs))


@pytest.mark.parametrize("width", [1, 4, 6, 0])
def test_static_dimensions_of_dynamic_inputs_are_checked(run, method, width):
    message = rf"input 2 \(pair_z\), dimension 1: expected 5, got {width}"
    x, pair, flag = _inputs()
    inputs = (x, {**pair, "z": torch.ones(3, width)}, flag)
    for call in (lambda: method(*inputs), lambda: run.run(inputs)):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            call()


def test_entry_tells_every_dimension_of_dynamic_inputs(run):
    bounds = Runtime.get().load_program(run.file.data).input_bounds("forward")
    assert [[str(one) for one in bound.dimensions] for bound in bounds] == [
        ["0 (batch): 0..8", "1 (seq): 2..16"],
        ["0 (2*seq + 1): 5..33", "1: 2"],
        ["0 (batch): 0..8", "1: 5"],
    ]


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"sequence": 1}, r"input 0 \(x\), dimension 1 \(seq\): expected 2\.\.16, got 1"),
        ({"sequence": 17}, r"input 0 \(x\), dimension 1 \(seq\): expected 2\.\.16, got 17"),
        ({"batch": 9}, r"input 0 \(x\), dimension 0 \(batch\): expected 0\.\.8, got 9"),
        (
            {"doubled": 11},
            r"input 1 \(pair_y\), dimension 0 \(2\*seq \+ 1\): expected 9 to go with dimension 1"
            r" \(seq\) of input 0 \(x\), got 11",
        ),
        ({"doubled": 10}, r"expected a size of the form 2 \* n \+ 1, got 10"),
        ({"other": 2}, r"input 2 \(pair_z\), dimension 0 \(batch\): expected 3 to go with"),
    ],
)
def test_sizes_that_break_the_export_are_refused_before_anything_runs(run, method, sizes, message):
    for call in (lambda: method(*_inputs(**sizes)), lambda: run.run(_inputs(**sizes))):
        with pytest.raises(errors.InvalidArgumentError, match=message):
            call()


def test_programs_without_dynamic_shapes_have_no_entry():
    program = lower(Mlp(), seeded(2, 5))
    assert not read_program(program.buffer).program.named_data
    assert Runtime.get().load_program(program.buffer).input_bounds("forward") == ()


def test_entry_is_the_same_every_time(run):
    shapes = ({0: BATCH, 1: SEQUENCE}, {"y": {0: 2 * SEQUENCE + 1}, "z": {0: BATCH}}, None)
    again = etlab.export(Sums(), _inputs(), dynamic_shapes=shapes)
    assert again.file.data == run.file.data


def test_official_runtime_takes_no_notice(run):
    if not is_available():
        pytest.skip("needs the executorch package")
    x, pair, flag = _inputs(2, 5)
    with OfficialRuntime(run.file.data) as official:
        (found,) = official.execute([x, pair["y"], pair["z"], flag])
    assert torch.equal(found, Sums()(x, pair, flag))


def _entry(**changes):
    dimension = {
        "dimension": 0,
        "min": 1,
        "max": 4,
        "symbol": "s0",
        "times": 1,
        "plus": 0,
        **changes,
    }
    item = {"input": 0, "name": "x", "dimensions": [dimension]}
    return json.dumps({"version": 1, "methods": {"forward": [item]}}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff\xfe",
        b"[" * 100_000,
        b"[]",
        b"{}",
        b'{"version": 1}',
        b'{"version": 1, "methods": []}',
        b'{"version": 1, "methods": {"forward": [3]}}',
        b'{"version": 1, "methods": {"forward": [{"input": 0}]}}',
        _entry(min=-1),
        _entry(min=5),
        _entry(max=2**40),
        _entry(min=True),
        _entry(min=1.5),
        _entry(times=0),
        _entry(name="a\nb"),
        _entry(name="\ud800"),
        _entry(name="x" * 1000),
        _entry(symbol=3),
        _entry(dimension="0"),
        _entry() + b" " * (1 << 21),
    ],
)
def test_damaged_entries_are_refused_in_words(data):
    with pytest.raises(errors.InvalidProgramError, match=r"bounds of its inputs .* are damaged"):
        read_bounds(data, "forward")


def test_damaged_entry_stops_the_load_of_its_program(run):
    start = run.file.data.index(b'{"version"')
    data = bytearray(run.file.data)
    data[start] = ord("[")
    program = Runtime.get().load_program(bytes(data))
    with pytest.raises(errors.InvalidProgramError, match=KEY):
        program.load_method("forward")


def test_entries_for_inputs_that_are_not_there_do_no_harm():
    assert read_bounds(_entry(), "other") == ()
    assert read_bounds(_entry().replace(b'"version": 1', b'"version": 2'), "forward") == ()
    (bound,) = read_bounds(_entry(dimension=2**31 - 1), "forward")
    etlab.runtime.bounds.check_sizes("forward", [bound], [])
    etlab.runtime.bounds.check_sizes("forward", [bound], [torch.ones(9)])
