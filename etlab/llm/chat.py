"""Conversations with a language model.

chat = Chat(Runner(program, tokenizer))
chat.send("What is the capital of France?")
"""

import importlib
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.llm.generation import Generation, GenerationConfig, Stats
from etlab.llm.runner import Runner
from etlab.llm.templates import conversation_tokens, template_of

_ROLES = {"system": "System", "user": "You", "assistant": "Model"}


@dataclass(frozen=True, slots=True)
class ChatMessage:
    """One turn of a conversation.

    Attributes:
        role: "system", "user" or "assistant".
        content: what was said.
        stats: of an answer.
    """

    role: str
    content: str
    stats: Stats | None = None


class LiveAnswer:
    """An answer while it comes.

    Attributes:
        text: so far.
        token_count: so far.
    """

    def __init__(self) -> None:
        self.text = ""
        self.token_count = 0
        self._first = self._last = 0.0

    def add_token(self) -> None:
        """One more token."""
        self._last = time.monotonic()
        if self.token_count == 0:
            self._first = self._last
        self.token_count += 1

    @property
    def rate(self) -> float:
        """Tokens a second since the first one; 0 before the second."""
        seconds = self._last - self._first
        return (self.token_count - 1) / seconds if seconds > 0 else 0.0


class Chat:
    """A conversation: what was said so far is in the cache and is not computed again.

    Args:
        runner: with a tokenizer. Its text becomes the conversation's; `runner.new_session()` makes
            room for a second one.
        system: what the model is told first.
        template: Jinja source, or a name of `etlab.llm.templates.TEMPLATES`; the tokenizer's by
            default.
        config: how answers are made; the most probable tokens by default.
        options: fields of `GenerationConfig` to change.

    Attributes:
        messages: what was said.
        live: the answer that comes now, or the last one; None before the first.
        is_answering: whether one comes now.

    Raises:
        NotSupportedError: the runner has no tokenizer.
        NotFoundError: there is no template for its tokenizer.
    """

    def __init__(
        self,
        runner: Runner,
        *,
        system: str | None = None,
        template: str | None = None,
        config: GenerationConfig | None = None,
        **options: Any,
    ) -> None:
        self.runner = runner
        self._tokenizer = runner.need_tokenizer()
        self._template = template_of(self._tokenizer, template)
        self.config = replace(config or GenerationConfig(temperature=0), **options)
        self._system = system
        self.messages: list[ChatMessage] = []
        self.live: LiveAnswer | None = None
        self.is_answering = False
        self.reset()

    def send(
        self, text: str, on_text: Callable[[str], Any] | None = None, **options: Any
    ) -> Generation:
        """Say something and get the answer.

        Args:
            text: what to say.
            on_text: sees the answer as it comes; False ends it.
            options: fields of `GenerationConfig` to change, for this answer.

        Raises:
            InvalidArgumentError: the conversation is longer than the context, or the template
                refuses it; it then is as it was before.
        """
        if not isinstance(text, str) or not text.strip():
            raise InvalidArgumentError(f"chat: expected something to say, got {text!r}")
        live = self.live = LiveAnswer()

        def see(piece: str) -> Any:
            live.text += piece
            return None if on_text is None else on_text(piece)

        self.messages.append(ChatMessage("user", text))
        stats = None
        self.is_answering = True
        try:
            tokens = conversation_tokens(self._template, self._plain(), self._tokenizer)
            result = self.runner.generate(
                tokens, self.config, on_text=see, on_token=lambda _: live.add_token(), **options
            )
            stats = result.stats
        finally:  # an answer that was interrupted is part of the conversation, too
            self.is_answering = False
            is_whole = stats is not None and stats.finish_reason != "stopped"
            if live.token_count > 0 or is_whole:
                self.messages.append(ChatMessage("assistant", live.text, stats))
            else:
                self.messages.pop()
        return result

    def _plain(self) -> list[dict[str, str]]:
        return [{"role": one.role, "content": one.content} for one in self.messages]

    def stop(self) -> None:
        """End the answer that comes now, within the current token; from any thread."""
        self.runner.stop()

    def reset(self) -> None:
        """Begin a new conversation, with the same system message."""
        self.messages = [] if self._system is None else [ChatMessage("system", self._system)]

    def widget(self, **options: Any) -> Any:
        """A `ChatView` of this conversation: say things and see the answers come."""
        return importlib.import_module("etlab.widgets").find_view("ChatView")(self, **options)

    def __repr__(self) -> str:
        """How much was said."""
        said = sum(message.role == "user" for message in self.messages)
        return f"Chat({said} question{'' if said == 1 else 's'}, {self.runner!r})"

    def transcript_html(self, *, has_numbers: bool = True) -> str:
        """What was said, as HTML that reads without styles.

        Args:
            has_numbers: whether times are shown, which differ from run to run.
        """
        shown = [_message_html(message, has_numbers=has_numbers) for message in self.messages]
        if self.is_answering and self.live is not None:
            shown.append(_said_html("assistant", self.live.text))
        return "".join(shown) or "<p>Nothing was said yet.</p>"

    def _repr_html_(self) -> str:
        return display.card("Chat", self.transcript_html())


def _message_html(message: ChatMessage, *, has_numbers: bool) -> str:
    if message.stats is None:
        return _said_html(
            message.role, message.content, "interrupted" if message.role == "assistant" else ""
        )
    return _said_html(message.role, message.content, str(message.stats) if has_numbers else "")


def _said_html(role: str, content: str, note: str = "") -> str:
    under = f'<div style="opacity:.7;font-size:85%">{display.escape(note)}</div>' if note else ""
    return (
        f'<div style="margin:6px 0"><b>{display.escape(_ROLES.get(role, role))}</b>'
        f'<div style="white-space:pre-wrap">{display.escape(content)}</div>{under}</div>'
    )
