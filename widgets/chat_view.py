"""`ChatView`: a conversation with a language model, its answers coming live."""

import threading
import time
from typing import Any, Protocol

import ipywidgets

from etlab import display as markup
from etlab.errors import EtlabError, InvalidArgumentError
from etlab.widgets._two_outputs import TwoOutputs

_REFRESH = 0.05  # seconds between two pictures of an answer that comes


class _Live(Protocol):
    text: str
    token_count: int

    @property
    def rate(self) -> float: ...


class _Conversation(Protocol):
    """What the view needs of an `etlab.llm.Chat`."""

    messages: list[Any]
    is_answering: bool

    @property
    def live(self) -> _Live | None: ...

    def send(self, text: str, on_text: Any = None) -> Any: ...

    def stop(self) -> None: ...

    def reset(self) -> None: ...

    def transcript_html(self, *, has_numbers: bool = True) -> str: ...


class ChatView(TwoOutputs, ipywidgets.VBox):
    """A conversation: say something, see the answer come, stop it at once.

    Args:
        chat: an `etlab.llm.Chat`; `chat.widget()` makes its view.

    Raises:
        InvalidArgumentError: this is no conversation.

    `view.chat` is the conversation, `view.chat.messages` what was said, for the next cell.
    """

    def __init__(self, chat: _Conversation) -> None:
        if not hasattr(chat, "transcript_html"):
            raise InvalidArgumentError(
                f"ChatView: expected an etlab.llm.Chat, got {type(chat).__name__};"
                " Chat(runner).widget() makes a view"
            )
        self.chat = chat
        self._worker: threading.Thread | None = None
        self.transcript = ipywidgets.HTML()
        self.question = ipywidgets.Textarea(
            placeholder="Say something", layout={"width": "100%", "height": "64px"}
        )
        self.send_button = ipywidgets.Button(
            description="Send", button_style="primary", tooltip="say this to the model"
        )
        self.stop_button = ipywidgets.Button(
            description="Stop", disabled=True, tooltip="end the answer, within the current token"
        )
        self.new_button = ipywidgets.Button(
            description="New", tooltip="begin a new conversation with the same system message"
        )
        self.status = ipywidgets.HTML()
        self._style = ipywidgets.HTML()
        self.send_button.on_click(lambda _: self.start())
        self.stop_button.on_click(lambda _: self.stop())
        self.new_button.on_click(lambda _: self._begin_again())
        self._draw("ready")
        buttons = [self.send_button, self.stop_button, self.new_button, self.status]
        super().__init__(
            [
                self.transcript,
                self.question,
                ipywidgets.HBox(buttons, layout={"flex_flow": "wrap"}),
                self._style,
            ]
        )
        self.observe(lambda _: self._hide(), "hides")

    def start(self) -> None:
        """What *Send* does: say what is in the box, in a thread, so that the kernel stays free."""
        text = self.question.value
        if not text.strip() or (self._worker is not None and self._worker.is_alive()):
            return
        self.question.value = ""
        self._worker = threading.Thread(
            target=self.answer, args=(text,), name="etlab-chat", daemon=True
        )
        self._worker.start()

    def stop(self) -> None:
        """What *Stop* does."""
        self.chat.stop()

    def wait(self, timeout: float | None = None) -> bool:
        """Wait for a started answer; whether it ended in time."""
        if self._worker is not None:
            self._worker.join(timeout)
        return self._worker is None or not self._worker.is_alive()

    def answer(self, text: str) -> None:
        """Say something, in this thread; errors become the status line."""
        self.send_button.disabled = self.new_button.disabled = True
        self.stop_button.disabled = False
        drawn = 0.0

        def see(_: str) -> None:
            nonlocal drawn
            if time.monotonic() - drawn < _REFRESH:
                return
            drawn = time.monotonic()
            self._draw(self._progress())

        try:
            self._draw("reading …")
            result = self.chat.send(text, see)
            self._draw(self._ending(result.stats))
        except EtlabError as error:
            self._draw(str(error), is_failed=True)
        except Exception as error:
            self._draw(f"{type(error).__name__}: {error}", is_failed=True)
        finally:
            self.send_button.disabled = self.new_button.disabled = False
            self.stop_button.disabled = True

    def _progress(self) -> str:
        live = self.chat.live
        return "" if live is None else f"{live.token_count} tokens, {live.rate:.1f} tok/s"

    def _ending(self, stats: Any) -> str:
        return ("stopped: " if stats.finish_reason == "stopped" else "") + str(stats)

    def _begin_again(self) -> None:
        self.chat.reset()
        self._draw("ready")

    def _draw(self, status: str, *, is_failed: bool = False) -> None:
        role = "alert" if is_failed else "status"
        prefix = "<b>Error</b> " if is_failed else ""
        self.transcript.value = self.chat.transcript_html()
        self.status.value = (
            f'<span class="etlab-status" role="{role}" aria-live="polite">'
            f"{prefix}{markup.escape(status)}</span>"
        )

    def _hide(self) -> None:
        self._style.value = f"<style>.{self.hides} {{display: none}}</style>"

    def _snapshot_html(self) -> str:
        return markup.card("Chat", self.chat.transcript_html())

    def __repr__(self) -> str:
        """As the conversation's."""
        return f"ChatView({self.chat!r})"
