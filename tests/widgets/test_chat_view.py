"""The chat's view: sending, stopping, errors, what a saved notebook keeps."""

import threading

import pytest
from llm.letters import Letters
from llm.tiny_model import tiny_program

import etlab
from etlab.errors import InvalidArgumentError
from etlab.llm import Chat, Runner
from etlab.runtime import Runtime

TEMPLATE = "{% for message in messages %}{{ message.content }}<end>{% endfor %}"


@pytest.fixture
def view():
    program = Runtime.get().load_program(tiny_program())
    chat = Chat(Runner(program, Letters(chat_template=TEMPLATE)), max_new_tokens=4, ignore_eos=True)
    return chat.widget()


def test_a_question_is_answered_in_a_thread(view):
    view.question.value = "^ab"
    view.send_button.click()
    assert view.wait(20)
    answer = view.chat.messages[1].content
    assert len(answer) == 4
    assert answer in view.transcript.value
    assert "tok/s" in view.status.value
    assert view.question.value == ""
    assert (view.send_button.disabled, view.stop_button.disabled) == (False, True)


def test_stop_ends_an_answer_that_comes(view):
    begun, clicked = threading.Event(), threading.Event()
    send = view.chat.send

    def slow(text, see):
        def wait(piece):
            see(piece)
            begun.set()
            clicked.wait(20)

        return send(text, wait)

    view.chat.send = slow
    view.question.value = "^ab"
    view.send_button.click()
    assert begun.wait(20)
    assert not view.stop_button.disabled
    assert view.send_button.disabled
    assert view.chat.live.text in view.transcript.value
    view.stop_button.click()
    clicked.set()
    assert view.wait(20)
    assert "stopped: 1 tokens" in view.status.value
    assert len(view.chat.messages[1].content) == 1


def test_new_begins_again(view):
    view.answer("^ab")
    view.new_button.click()
    assert view.chat.messages == []
    assert "Nothing was said" in view.transcript.value


def test_errors_become_the_status_line(view):
    view.answer("a" * 40)
    assert "<b>Error</b>" in view.status.value
    assert "the context of the program holds 24" in view.status.value
    assert 'role="alert"' in view.status.value
    view.question.value = "  "
    view.start()
    assert view.chat.messages == []


def test_a_saved_notebook_keeps_what_was_said(view):
    view.answer("^a<b>")
    assert "^a&lt;b&gt;" in view._snapshot_html()
    assert repr(view).startswith("ChatView(Chat(1 question")
    view.hides = "etlab-snapshot-0"
    assert "etlab-snapshot-0" in view._style.value


def test_only_conversations_are_shown():
    with pytest.raises(InvalidArgumentError, match=r"expected an etlab\.llm\.Chat, got str"):
        etlab.ChatView("nothing")
