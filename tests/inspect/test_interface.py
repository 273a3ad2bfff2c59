import collections

import pytest
import torch
from exir.lowering import Function, Mlp, lower, seeded
from small_models import Counter
from torch.export import Dim

import etlab
from etlab.inspect.constant_pieces import without_constants
from etlab.inspect.program_file import ProgramFile

Pair = collections.namedtuple("Pair", "low high")


def _officially(model, inputs, dynamic_shapes=None):
    exir = pytest.importorskip("executorch.exir", reason="executorch is not installed")
    exported = torch.export.export(model, inputs, dynamic_shapes=dynamic_shapes)
    return ProgramFile(bytes(exir.to_edge(exported).to_executorch().buffer))


def _file(model, *inputs, **options):
    return ProgramFile(lower(model, *inputs, **options).buffer, name="model.pte")


def test_inputs_and_outputs_are_named_by_their_place_in_the_call():
    class Nested(torch.nn.Module):
        def forward(self, x, pair, scale):
            return {"sum": x + pair[0] * scale, "rest": Pair(pair[1]["k"].half(), 3)}

    file = _file(Nested(), seeded(2, 3), (seeded(3), {"k": seeded(2)}), 2.0)
    inputs, outputs = file.inputs(), file.outputs()
    assert [(row.name, row.kind, row.dtype, row.shape) for row in inputs] == [
        ("argument 0", "Tensor", "float32", (2, 3)),
        ("argument 1[0]", "Tensor", "float32", (3,)),
        ("argument 1[1]['k']", "Tensor", "float32", (2,)),
        ("argument 2", "float", "", None),
    ]
    assert inputs[3].bounds == "as exported"
    assert [(row.name, row.kind, row.dtype) for row in outputs] == [
        ("['sum']", "Tensor", "float32"),
        ("['rest'].low", "Tensor", "float16"),
        ("['rest'].high", "int", ""),
    ]
    assert sum(row.nbytes for row in inputs) == 4 * (6 + 3 + 2)


def test_bounds_of_dynamic_sizes_are_shown():
    file = _file(Mlp(), seeded(4, 5), dynamic_shapes={"x": {0: Dim("batch", min=3, max=8)}})
    (row,) = file.inputs()
    assert (row.shape, row.bounds) == ((8, 5), "0 (batch): 3..8")
    assert not file.notes
    blank = ProgramFile(without_constants(file.data))
    assert blank.inputs() == file.inputs()


def test_tables_show_the_same_everywhere():
    table = _file(Mlp(), seeded(2, 5)).inputs()
    frame = table.to_dataframe()
    assert list(frame.columns) == table.columns
    assert frame.loc[0, "shape"] == (2, 5)
    for text in (str(table), table._repr_html_()):
        assert "2 x 5" in text
    assert repr(table) == "inputs of forward: 1 row"
    assert "none" in str(_file(Mlp(), seeded(2, 5)).backends())


def test_delegates_are_listed_with_their_bytes():
    run = etlab.export(Mlp().eval(), seeded(2, 5), partitioner="reference")
    (row,) = run.file.backends()
    assert (row.backend, row.calls, row.is_available) == ("ReferenceBackend", 1, True)
    assert row.nbytes == run.size().by_kind["delegate"]


class Update(torch.nn.Module):
    def forward(self, total, x):
        total.add_(x)
        return total * 2


class TwoConds(torch.nn.Module):
    def forward(self, flag, x):
        first = torch.cond(flag, lambda x: x + 1.0, lambda x: x * 2.0, (x,))
        second = torch.cond(flag, lambda x: x * 3.0, lambda x: x - 2.0, (x,))
        return first + second


FLAG, X = torch.tensor(True), torch.tensor([1.0, 2.0, 3.0])


@pytest.mark.parametrize(
    ("model", "inputs", "subject", "text"),
    [
        (Counter(), (X,), "state %0", "its first value is not in the file"),
        (Update(), (X, X + 1), "outputs 0", "inputs that the model updates in place"),
        (TwoConds(), (FLAG, X), "aten::mul.out", "needed afterwards"),
    ],
)
def test_files_of_the_official_exporter_say_where_they_differ(model, inputs, subject, text):
    file = _officially(model, inputs)
    (note,) = (note for note in file.notes if note.where == "file")
    assert subject in note.subject
    assert text in note.text
    assert text in file._repr_html_()
    assert not _file(model, *inputs).notes


def test_what_the_notes_say_is_so():
    for model, inputs in ((Counter(), (X,)), (TwoConds(), (FLAG, X))):
        expected = type(model)()(*inputs)
        (official,) = _officially(model, inputs).run(inputs)
        (own,) = _file(model, *inputs).run(inputs)
        assert torch.equal(own, expected)
        assert not torch.equal(official, expected)


def test_official_bounds_are_upper_ones_only():
    shapes = {"x": {0: Dim("batch", min=3, max=8)}}
    file = _officially(Mlp(), (seeded(4, 5),), shapes)
    assert file.inputs()[0].bounds == "each up to its size"
    assert "upper bounds" in file.notes[0].text


def test_kernels_that_differ_in_the_official_runtime_are_told_apart():
    remainder = Function(lambda x: x % 3)
    (note,) = _officially(remainder, (torch.arange(5),)).notes
    assert (note.where, note.subject) == ("official runtime", "aten::remainder.Scalar_out")
    # Ours divides instead, which is right in both runtimes.
    assert not _file(remainder, torch.arange(5)).notes


def test_state_lists_what_lives_from_call_to_call():
    (row,) = _file(Counter(), X, emit_mutable_buffer_names=True).state()
    assert (row.name, row.shape, row.has_first_value) == ("total", (3,), True)
    (row,) = _officially(Counter(), (X,)).state()
    assert (row.shape, row.has_first_value) == ((3,), False)
