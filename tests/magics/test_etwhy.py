import pytest
import torch
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from torch import nn
from traitlets.config import Config

import etlab
from etlab import runtime


@pytest.fixture(scope="module")
def exported():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.LayerNorm(7), nn.Linear(7, 3)).eval()
    return etlab.export(model, (torch.zeros(2, 5),), partitioner="xnnpack")


@pytest.fixture
def shell(exported, monkeypatch):
    monkeypatch.setenv("ETLAB_PROGRESS", "off")
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "etlab")
    shell.push({"run": exported})
    return shell


@pytest.fixture
def restored_threads():
    before = runtime.thread_count()
    yield
    runtime.set_thread_count(before)


def test_why_says_which_delegate_took_an_operator(shell):
    answer = shell.run_line_magic("etwhy", "linear")
    assert str(answer).splitlines()[0] == "linear: 2 calls, 2 delegated"
    assert "2 taken by XnnpackBackend" in str(answer)


def test_why_says_why_an_operator_was_left_and_what_helps(shell):
    text = str(shell.run_line_magic("etwhy", "layer_norm"))
    assert "XNNPACK has nothing like" in text
    assert "what would help: " in text
    assert "normalization.py:" in text


def test_why_without_a_subject_is_the_report(shell, exported):
    report = shell.run_line_magic("etwhy", "")
    assert str(report) == str(exported.delegation())
    assert "time" in shell.run_line_magic("etwhy", "--runs 1").shares


def test_why_takes_the_run_by_name_or_the_only_one(shell, exported):
    shell.push({"other": exported})
    assert len(shell.run_line_magic("etwhy", "linear -n other").calls) == 2
    shell.user_ns.pop("run")
    assert len(shell.run_line_magic("etwhy", "linear").calls) == 2
    shell.push({"third": etlab.export(exported.model, exported.example_inputs)})
    with pytest.raises(UsageError, match="say which: other or third"):
        shell.run_line_magic("etwhy", "linear")


def test_an_unknown_operator_is_one_line(shell):
    with pytest.raises(UsageError, match=r"no operator, node, module or part 'liner'.*near it"):
        shell.run_line_magic("etwhy", "liner")


def test_printed_code_gives_the_same_answer(shell, capsys):
    answer = shell.run_line_magic("etwhy", "linear --print-code")
    code = capsys.readouterr().out
    assert code == "run.delegation().why('linear')\n"
    assert eval(code, {"run": shell.user_ns["run"]}) == answer


def test_threads_are_set_and_shown(shell, capsys, restored_threads):
    assert shell.run_line_magic("etlab", "threads 3 --print-code") is None
    assert runtime.thread_count() == 3
    assert "etlab.options.threads = 3" in capsys.readouterr().out
    assert shell.run_line_magic("etlab", "threads") == 3
    rows = {row.name: row.value for row in shell.run_line_magic("etlab", "")}
    assert rows["threads"].startswith("3 of ")
    assert rows["progress"] == "off"


def test_progress_is_switched(shell):
    shell.run_line_magic("etlab", "progress on")
    rows = {row.name: row.value for row in shell.run_line_magic("etlab", "status")}
    assert rows["progress"] == "on"


def test_delegated_results_are_the_same_for_any_thread_count(restored_threads):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Conv2d(3, 37, 3), nn.ReLU(), nn.Flatten(), nn.Linear(37 * 49, 33))
    x = torch.randn(5, 3, 9, 9)
    found = etlab.export(model.eval(), (x,), partitioner="xnnpack")
    results = []
    for count in (1, 2, 5):
        runtime.set_thread_count(count)
        results.append(found.run(x))
    assert all(torch.equal(result, results[0]) for result in results)
