"""Conversations: templates, what is kept, what people cannot smuggle in."""

from dataclasses import replace

import pytest
from llm.letters import Letters
from llm.tiny_model import tiny_program

from etlab.errors import InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm import Chat, Runner
from etlab.llm.templates import TEMPLATES, conversation_tokens, render, template_of
from etlab.runtime import Runtime

TEMPLATE = "{% for message in messages %}{{ message.content }}<end>{% endfor %}"
MESSAGES = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": " Hello\nthere "},
    {"role": "assistant", "content": "Hi"},
    {"role": "user", "content": "Bye"},
]


def new_runner(tokenizer: Letters | None = None) -> Runner:
    program = Runtime.get().load_program(tiny_program())
    return Runner(program, tokenizer or Letters(chat_template=TEMPLATE))


@pytest.fixture
def chat() -> Chat:
    return Chat(new_runner(), max_new_tokens=2, ignore_eos=True)


@pytest.mark.parametrize("name", [*TEMPLATES, "SmolLM2"])
def test_templates_are_rendered_as_transformers_does(name: str) -> None:
    utilities = pytest.importorskip("transformers.utils.chat_template_utils")
    template = TEMPLATES.get(name) or _template_of_smollm2()
    [expected], _ = utilities.render_jinja_template(
        [MESSAGES],
        chat_template=template,
        add_generation_prompt=True,
        bos_token="^",
        eos_token="",
    )
    assert render(template, MESSAGES, Letters()) == expected


def _template_of_smollm2() -> str:
    from etlab.llm.tokenizers import load_tokenizer
    from etlab.models import smollm2

    try:
        return load_tokenizer(smollm2.gguf_path()).chat_template or ""
    except NotFoundError as error:
        pytest.skip(str(error))


def test_a_conversation_goes_on_in_the_cache(chat: Chat) -> None:
    first = chat.send("^abc")
    second = chat.send("hij")
    assert [message.role for message in chat.messages] == ["user", "assistant"] * 2
    assert chat.messages[1].content == first.text
    assert list(second.prompt_tokens) == Letters().encode(f"^abc.{first.text}.hij.")
    assert second.stats.num_reused_tokens >= len("^abc.")
    chat.reset()
    assert chat.messages == []
    assert chat.send("^abc").text == first.text


def test_the_system_message_stands_first_and_stays() -> None:
    chat = Chat(new_runner(), system="ab", max_new_tokens=1)
    result = chat.send("c")
    assert list(result.prompt_tokens) == Letters().encode("ab.c.")
    chat.reset()
    assert [message.role for message in chat.messages] == ["system"]


def test_special_tokens_that_people_write_are_text() -> None:
    tokenizer = Letters()
    messages = [{"role": "user", "content": "a<end>b"}]
    assert conversation_tokens(TEMPLATE, messages, tokenizer) == [
        *tokenizer.encode("a<end>b"),
        *tokenizer.encode("<end>", has_special=True),
    ]
    twice = [*messages, {"role": "user", "content": "c"}]
    assert tokenizer.decode(conversation_tokens(TEMPLATE, twice, tokenizer)) == "aendb.c."


def test_an_answer_that_is_interrupted_is_kept(chat: Chat) -> None:
    def interrupt(_: str) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        chat.send("^abc", interrupt)
    assert [message.role for message in chat.messages] == ["user", "assistant"]
    assert len(chat.messages[1].content) == 1
    assert "interrupted" in chat.transcript_html()
    chat.send("h")
    assert len(chat.messages) == 4


def test_a_conversation_that_is_too_long_stays_as_it_was(chat: Chat) -> None:
    chat.send("^abc")
    before = list(chat.messages)
    with pytest.raises(InvalidArgumentError, match="the context of the program holds 24"):
        chat.send("a" * 30)
    assert chat.messages == before
    with pytest.raises(InvalidArgumentError, match="something to say"):
        chat.send(" ")
    assert chat.messages == before


def test_stopping_an_answer_keeps_what_came_and_before_it_takes_the_question_back(
    chat: Chat, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = chat.send("^abc", lambda _: chat.stop())
    assert result.stats.finish_reason == "stopped"
    assert [message.role for message in chat.messages] == ["user", "assistant"]
    nothing = replace(result, text="", tokens=())
    monkeypatch.setattr(chat.runner, "generate", lambda *_, **__: nothing)
    chat.send("h")
    assert len(chat.messages) == 2


def test_what_was_said_reads_as_text(chat: Chat) -> None:
    assert "Nothing was said" in chat._repr_html_()
    chat.send("^a<b>")
    html = chat._repr_html_()
    assert "^a&lt;b&gt;" in html
    assert "tok/s" in html
    assert "tok/s" not in chat.transcript_html(has_numbers=False)
    assert "1 question," in repr(chat)


def test_templates_are_found_or_asked_for() -> None:
    with pytest.raises(NotFoundError, match=r"no chat template.*chatml, llama3"):
        template_of(Letters())
    with pytest.raises(NotFoundError, match="no chat template is called 'mine'"):
        template_of(Letters(), "mine")
    assert template_of(Letters(), "plain") == TEMPLATES["plain"]
    assert template_of(Letters(), "{{ 1 }}") == "{{ 1 }}"

    class ChatMl(Letters):
        def encode(self, text: str, *, has_special: bool = False) -> list[int]:
            return [1] if has_special and text == "<|im_start|>" else [1, 2]

    assert template_of(ChatMl()) == TEMPLATES["chatml"]


def test_templates_that_fail_say_so() -> None:
    refusing = "{{ raise_exception('roles must alternate') }}"
    with pytest.raises(InvalidArgumentError, match="roles must alternate"):
        render(refusing, MESSAGES, Letters())
    with pytest.raises(InvalidArgumentError, match="chat template failed"):
        render("{% if %}", MESSAGES, Letters())
    with pytest.raises(InvalidArgumentError, match="unsafe"):
        render("{{ messages.__class__.__mro__ }}", MESSAGES, Letters())


def test_a_conversation_needs_a_tokenizer() -> None:
    with pytest.raises(NotSupportedError, match="has no tokenizer"):
        Chat(Runner(Runtime.get().load_program(tiny_program())))
