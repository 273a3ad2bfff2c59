"""Chat templates: Jinja sources that make one text of a conversation, as Hugging Face has them."""

import datetime
import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm.tokenizers import Tokenizer
from etlab.llm.tokenizers.base import import_library

Message = Mapping[str, str]  # "role" and "content"

# For vocabularies that come without one; named for the families that use them.
TEMPLATES = {
    "chatml": (
        "{% for message in messages %}"
        "<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
    ),
    "llama3": (
        "{{ bos_token }}"
        "{% for message in messages %}"
        "<|start_header_id|>{{ message.role }}<|end_header_id|>\n\n"
        "{{ message.content | trim }}<|eot_id|>"
        "{% endfor %}"
        "{% if add_generation_prompt %}<|start_header_id|>assistant<|end_header_id|>\n\n{% endif %}"
    ),
    "phi3": (
        "{% for message in messages %}"
        "<|{{ message.role }}|>\n{{ message.content }}<|end|>\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}<|assistant|>\n{% endif %}"
    ),
    "plain": (
        "{% for message in messages %}"
        "{{ message.role | capitalize }}: {{ message.content }}\n"
        "{% endfor %}"
        "{% if add_generation_prompt %}Assistant:{% endif %}"
    ),
}
_MARKS = {"chatml": "<|im_start|>", "llama3": "<|start_header_id|>", "phi3": "<|assistant|>"}
_PLACE = "\N{START OF TEXT}{}\N{END OF TEXT}"  # stands for a content while the template runs


def template_of(tokenizer: Tokenizer, chosen: str | None = None) -> str:
    """The Jinja source for a tokenizer's model.

    Args:
        tokenizer: of the model.
        chosen: a name of `TEMPLATES`, a source of one's own, or None: the tokenizer's, or the one
            of `TEMPLATES` whose special tokens the vocabulary has.

    Raises:
        NotFoundError: nothing fits; the message says what to give.
    """
    if chosen is not None:
        if chosen in TEMPLATES:
            return TEMPLATES[chosen]
        if "{" not in chosen:
            raise NotFoundError(
                f"no chat template is called '{chosen}': choose from {', '.join(TEMPLATES)}, or"
                " give a Jinja source"
            )
        return chosen
    if tokenizer.chat_template is not None:
        return tokenizer.chat_template
    for name, mark in _MARKS.items():
        if len(tokenizer.encode(mark, has_special=True)) == 1:
            return TEMPLATES[name]
    raise NotFoundError(
        "the tokenizer has no chat template, and its vocabulary is not that of"
        f" {', '.join(_MARKS)}: give template=, one of {', '.join(TEMPLATES)} or a Jinja source"
    )


def render(template: str, messages: Sequence[Message], tokenizer: Tokenizer) -> str:
    """The text of a conversation, with the beginning of the answer.

    Raises:
        InvalidArgumentError: the template fails on these messages, or refuses them.
    """
    jinja2 = import_library("jinja2", "a chat template")
    try:
        compiled = _environment().from_string(template)
        text: str = compiled.render(
            messages=[dict(message) for message in messages],
            add_generation_prompt=True,
            bos_token=_name(tokenizer, tokenizer.bos_id),
            eos_token=_name(tokenizer, next(iter(tokenizer.eos_ids), None)),
        )
    except jinja2.TemplateError as error:
        raise InvalidArgumentError(f"the chat template failed: {error}") from error
    return text


def conversation_tokens(
    template: str, messages: Sequence[Message], tokenizer: Tokenizer
) -> list[int]:
    """The tokens of a conversation, with the beginning of the answer.

    Names of special tokens mean these in what the template writes, never in what people wrote.

    Raises:
        InvalidArgumentError: as `render`.
    """
    contents = [message["content"] for message in messages]
    if not any(_has_special(tokenizer, content) for content in contents):
        return tokenizer.encode(render(template, messages, tokenizer), has_special=True)
    marked = [
        {**message, "content": _PLACE.format(place)} for place, message in enumerate(messages)
    ]
    tokens: list[int] = []
    rest = render(template, marked, tokenizer)
    for place, content in enumerate(contents):
        before, found, after = rest.partition(_PLACE.format(place))
        if not found:  # the template leaves it out, or wrote it before
            continue
        tokens += tokenizer.encode(before, has_special=True) + tokenizer.encode(content)
        rest = after
    return tokens + tokenizer.encode(rest, has_special=True)


def _has_special(tokenizer: Tokenizer, content: str) -> bool:
    return tokenizer.encode(content, has_special=True) != tokenizer.encode(content)


def _name(tokenizer: Tokenizer, token: int | None) -> str:
    return "" if token is None else tokenizer.token_name(token) or ""


@functools.cache
def _environment() -> Any:
    """Jinja as Hugging Face's templates expect it: a sandbox, blocks that leave no lines."""
    jinja2 = import_library("jinja2", "a chat template")
    sandbox = import_library("jinja2.sandbox", "a chat template")

    def raise_exception(message: str) -> None:
        raise jinja2.TemplateError(message)

    def to_json(value: Any, **options: Any) -> str:
        return json.dumps(value, ensure_ascii=False, **options)

    environment = sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = to_json
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    return environment
