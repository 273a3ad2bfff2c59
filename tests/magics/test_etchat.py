"""`%%etchat`: conversations in cells."""

from typing import Any

import pytest
from IPython.core.error import UsageError
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from llm.letters import Letters
from llm.tiny_model import tiny_program
from traitlets.config import Config

from etlab.llm import Chat, Runner
from etlab.runtime import Runtime

TEMPLATE = "{% for message in messages %}{{ message.content }}<end>{% endfor %}"
SHORT = "--max-new-tokens 2"


@pytest.fixture
def shell(monkeypatch: pytest.MonkeyPatch) -> InteractiveShell:
    monkeypatch.setenv("ETLAB_PROGRESS", "off")
    shell = InteractiveShell(config=Config({"HistoryManager": {"enabled": False}}))
    shell.run_line_magic("load_ext", "etlab")
    program = Runtime.get().load_program(tiny_program())
    shell.push({"runner": Runner(program, Letters(chat_template=TEMPLATE))})
    return shell


def say(shell: InteractiveShell, line: str, cell: str) -> str:
    with capture_output() as captured:
        shell.run_cell_magic("etchat", line, cell)
    return str(captured.stdout)


def test_cells_are_one_conversation_until_a_new_one_begins(shell: InteractiveShell) -> None:
    first = say(shell, f"runner {SHORT} -n chat", "^ab\n")
    chat: Chat = shell.user_ns["chat"]
    assert first == chat.messages[1].content + "\n"
    say(shell, f"runner {SHORT}", "c")
    assert [message.content for message in chat.messages][::2] == ["^ab", "c"]
    assert say(shell, f"runner {SHORT} --new -n other", "^ab\n") == first
    assert len(shell.user_ns["other"].messages) == 2
    say(shell, f"chat {SHORT}", "e")
    assert len(chat.messages) == 6


def test_a_line_shows_what_was_said(shell: InteractiveShell) -> None:
    say(shell, f"runner {SHORT} --system hij", "^ab")
    with capture_output() as captured:
        shell.run_line_magic("etchat", "runner")
    lines = captured.stdout.splitlines()
    assert lines[:2] == ["system: hij", "user: ^ab"]
    assert lines[2].startswith("assistant: ")


def test_a_notebook_shows_one_output_that_grows(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    outputs: list[dict[str, str]] = []

    class Handle:
        def update(self, data: dict[str, str], raw: bool) -> None:
            outputs.append(data)

    def display(data: Any, **_: Any) -> Handle:
        outputs.append(data)
        return Handle()

    monkeypatch.setattr("IPython.display.display", display)
    monkeypatch.setattr("etlab.magics.etchat._REFRESH", 0.0)
    shell.kernel = object()  # type: ignore[attr-defined]
    shell.run_cell_magic("etchat", f"runner {SHORT} -n chat", "^a<b>")
    answer = shell.user_ns["chat"].messages[1].content
    texts = [data["text/plain"] for data in outputs]
    assert texts[0] == ""
    assert texts[-1] == answer
    assert all(answer.startswith(text) for text in texts)
    assert "tok/s" not in outputs[-1]["text/html"]  # ETLAB_PROGRESS=off: the same in every run
    monkeypatch.setenv("ETLAB_PROGRESS", "on")
    shell.run_cell_magic("etchat", f"runner {SHORT}", "c")
    assert "tok/s" in outputs[-1]["text/html"]


def test_the_stop_button_keeps_what_came(
    shell: InteractiveShell, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("etlab.magics.etchat._TerminalAnswer.see", interrupt)
    say(shell, f"runner {SHORT} -n chat", "^ab")
    assert len(shell.user_ns["chat"].messages) == 2


def test_the_same_in_python(shell: InteractiveShell) -> None:
    printed = say(shell, f"runner {SHORT} --seed 3 --print-code", "^ab")
    assert "chat = Chat(runner)\nchat.send('^ab', max_new_tokens=2, seed=3)" in printed


@pytest.mark.parametrize(
    ("line", "cell", "message"),
    [
        ("1 + 1", "a", "1 \\+ 1 is int, not an etlab.llm.Runner or Chat"),
        ("nothing", "a", "etchat nothing: NameError"),
        ("runner", "  ", "the cell is empty"),
        ("runner --temperature -1", "a", "etchat: temperature: expected a number from 0"),
        ("runner", "a" * 40, "the context of the program holds 24"),
    ],
)
def test_mistakes_are_one_line(shell: InteractiveShell, line: str, cell: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        say(shell, line, cell)
