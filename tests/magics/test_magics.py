import io

import pytest
import torch
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from torch import nn
from traitlets.config import Config

import etlab


def new_shell():
    """A shell without its history file, whose thread would outlive the test."""
    return InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))


@pytest.fixture
def shell(monkeypatch):
    monkeypatch.setenv("ETLAB_PROGRESS", "off")
    shell = new_shell()
    shell.run_line_magic("load_ext", "etlab")
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 33), nn.Tanh(), nn.Linear(33, 3)).eval()
    shell.push({"model": model, "x": torch.linspace(-1, 1, 15).reshape(3, 5), "torch": torch})
    return shell


def said(shell, capsys, line):
    """What a cell prints when it is run as a user runs it."""
    shell.run_cell(line)
    captured = capsys.readouterr()
    return captured.out + captured.err


def test_loading_the_extension_prints_nothing(capsys):
    new_shell().run_line_magic("load_ext", "etlab")
    captured = capsys.readouterr()
    assert captured.out + captured.err == ""


def test_export_returns_the_run_and_names_it(shell):
    run = shell.run_line_magic("etexport", "model --inputs x -n kept")
    assert isinstance(run, etlab.ExportRun)
    assert shell.user_ns["kept"] is run
    assert run.quantizer == "none"


def test_export_takes_expressions_with_spaces(shell):
    run = shell.run_line_magic("etexport", "model[0] --inputs torch.zeros(2, 5) -q fp16")
    assert run.example_inputs[0].shape == (2, 5)
    assert run.quantizer == "fp16"
    quoted = shell.run_line_magic("etexport", "model -i '(x + 1, )' -q int8-weights:min_elements=9")
    assert quoted.quantizer == "int8-weights:min_elements=9"


def test_export_writes_the_file(shell, tmp_path):
    run = shell.run_line_magic("etexport", f"model --inputs x -o {tmp_path}/m.pte")
    assert (tmp_path / "m.pte").read_bytes() == run.file.data


def test_cell_form_exports_the_last_expression(shell):
    cell = "import torch.nn as nn\nscale = 2\nlayer = nn.Linear(5, scale)\nlayer.eval()\n"
    run = shell.run_cell_magic("etexport", "--inputs x", cell)
    assert run.model is shell.user_ns["layer"]
    assert shell.user_ns["scale"] == 2
    assigned = shell.run_cell_magic("etexport", "--inputs x", "other = nn.Linear(5, 4)\n")
    assert assigned.model is shell.user_ns["other"]


def test_printed_code_does_the_same(shell, capsys, tmp_path):
    options = f"-q fp16 -o {tmp_path}/m.pte -n kept --print-code"
    run = shell.run_line_magic("etexport", f"model --inputs x {options}")
    code = capsys.readouterr().out
    names = {"model": shell.user_ns["model"], "x": shell.user_ns["x"]}
    (tmp_path / "m.pte").unlink()
    exec(code, names)
    assert names["kept"].file.data == run.file.data
    assert (tmp_path / "m.pte").read_bytes() == run.file.data


def test_help_shows_the_options(shell):
    text = shell.find_line_magic("etexport").__doc__
    for word in ("--inputs", "--partitioner", "--quantizer", "--output", "--print-code"):
        assert word in text


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("%etexport", ["say what to work on"]),
        ("%etexport model", ["--inputs is needed"]),
        ("%etexport nothing --inputs x", ["nothing", "NameError"]),
        ("%etexport model --inputs y", ["--inputs y", "NameError"]),
        ("%etexport x --inputs x", ["x is Tensor, not a torch.nn.Module"]),
        ("%etexport model --inputs x -q int9", ["no quantizer is called 'int9'", "int8-weights"]),
        ("%etexport model --inputs x -p nobody", ["no partitioner is called 'nobody'"]),
        ("%etexport model --inputs x -n 3x", ["not a variable name"]),
        ("%etexport model --inputs torch.zeros(2)", ["etexport: torch.export refused Sequential"]),
        ("%etexport model --inputs x -o /no/such/place.pte", ["cannot write '/no/such/place.pte'"]),
        ("%etexport model --inputs x --wrong", ["unrecognized arguments: --wrong"]),
        ("%%etexport --inputs x\n1 / 0", ["the cell failed: ZeroDivisionError"]),
        ("%%etexport --inputs x\nimport math", ["the cell gives no model"]),
        ("%etparity model", ["--inputs is needed"]),
        ("%etparity model -i x --check sqnr_db", ["expected metric>=number"]),
        ("%etparity model -i x --check sqnr_db<=3", ["sqnr_db>=number"]),
        ("%etparity model -i x --paths eager,exported --check max_abs<=-1", ["max_abs"]),
        ("%etparity model -i x --paths bogus", ["no path 'bogus'"]),
        ("%etwhy linear", ["no run yet", "%etexport"]),
        ("%etwhy linear -n x", ["-n x is Tensor, not an ExportRun"]),
        ("%etwhy linear -n nothing", ["NameError"]),
        ("%etlab threads two", ["expected a whole number, got 'two'"]),
        ("%etlab threads 0", ["expected 1 to 1024, got 0"]),
        ("%etlab thread 2", ["nothing is called 'thread'", "threads"]),
        ("%etlab progress maybe", ["expected on or off"]),
    ],
)
def test_errors_are_one_line_without_a_traceback(shell, capsys, line, words):
    text = said(shell, capsys, line)
    assert "Traceback" not in text
    assert len(text.strip().splitlines()) == 1, text
    assert text.startswith("UsageError: ")
    for word in words:
        assert word in text


def test_errors_keep_their_cause(shell):
    with pytest.raises(UsageError) as caught:
        shell.run_line_magic("etexport", "model --inputs y")
    assert isinstance(caught.value.__cause__, NameError)


def test_parity_compares_a_run_or_exports_a_model_first(shell, capsys):
    line = "model -i x --paths eager,exported --check sqnr_db>=100 -n told --print-code"
    report = shell.run_line_magic("etparity", line)
    code = capsys.readouterr().out
    assert shell.user_ns["told"] is report
    assert report.row("exported").values["max_abs"] == 0.0
    names = {"model": shell.user_ns["model"], "x": shell.user_ns["x"]}
    exec(code, names)
    assert names["told"] == report
    shell.run_line_magic("etexport", "model --inputs x -n run")
    again = shell.run_line_magic("etparity", "run --paths eager,exported")
    assert again.rows == report.rows


def test_parity_gives_the_worst_operators_or_leaves_operators_out(shell):
    shell.run_line_magic("etexport", "model --inputs x -n run")
    worst = shell.run_line_magic("etparity", "run --paths eager,native --top 1")
    assert len(worst) == 1
    bare = shell.run_line_magic("etparity", "run --paths eager,native --no-layers")
    assert bare.layers is None
    alone = shell.run_line_magic("etparity", "run --paths eager,native --no-local")
    assert all(row.local is None for row in alone.layers)


def test_progress_is_silent_when_asked_and_without_a_terminal(shell, monkeypatch, capsys):
    shell.run_line_magic("etexport", "model --inputs x")
    monkeypatch.delenv("ETLAB_PROGRESS")
    monkeypatch.setattr("sys.stderr", io.StringIO())
    shell.run_line_magic("etexport", "model --inputs x")
    assert capsys.readouterr().out == ""
