import pytest
import torch
from torch import nn

import etlab
from etlab.errors import AccessError, InvalidArgumentError, InvalidProgramError
from etlab.inspect.constant_pieces import without_constants
from etlab.inspect.size import size_report


@pytest.fixture(scope="module")
def run():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).eval()
    return etlab.export(model, (torch.linspace(-1, 1, 15).reshape(3, 5),), name="toy")


def test_loaded_file_runs_and_reports(run, tmp_path):
    file = etlab.load(run.save(tmp_path / "toy.pte"))
    (output,) = file.run(run.example_inputs)
    assert torch.equal(output, run.run(run.example_inputs))
    assert file.size().total == len(file.data)
    assert repr(file).startswith("ProgramFile(toy.pte, ")
    with pytest.raises(InvalidArgumentError, match="forward"):
        file.run(run.example_inputs, method="backward")


def test_files_that_are_no_programs_are_refused(tmp_path):
    (tmp_path / "noise.pte").write_bytes(b"noise" * 99)
    with pytest.raises(InvalidProgramError):
        etlab.load(tmp_path / "noise.pte")
    with pytest.raises(AccessError, match="cannot read"):
        etlab.load(tmp_path / "absent.pte")


@pytest.mark.parametrize("value", [b"bytes", 3, None])
def test_what_is_no_path_is_refused_in_words(value):
    with pytest.raises(
        InvalidArgumentError, match=f"path of a .pte file, got {type(value).__name__}"
    ):
        etlab.load(value)


def test_damaged_file_of_external_tensors_is_refused(tmp_path):
    (tmp_path / "weights.ptd").write_bytes(b"\x10\0\0\0FT01FH01" + bytes(64))
    with pytest.raises(InvalidProgramError, match="FlatBuffer"):
        etlab.load(tmp_path / "weights.ptd")


def test_blank_constants_keep_the_program_and_its_length(run):
    blank = without_constants(run.file.data)
    assert len(blank) == len(run.file.data)
    assert size_report(blank, title="b").by_kind == run.size().by_kind
    (output,) = etlab.ProgramFile(blank).run(run.example_inputs)
    assert torch.equal(output, torch.zeros(3, 3))
