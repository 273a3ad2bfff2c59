"""`%%etchat`: say something to a language model, and see its answer come."""

import sys
import time
from collections.abc import Callable
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab import display as markup
from etlab.errors import EtlabError
from etlab.magics.support import (
    as_call,
    check_name,
    common_options,
    evaluate,
    finish,
    one_line_errors,
    text_of,
)
from etlab.session import options

_REFRESH = 0.1  # seconds between two pictures of an answer that comes
_OPTIONS = ("max_new_tokens", "temperature", "top_k", "top_p", "min_p", "seed")


@magics_class
class ChatMagics(Magics):
    """The magic of conversations."""

    @magic_arguments()
    @argument("model", nargs="+", help="expression for an etlab.llm.Runner or Chat")
    @argument("--system", nargs="+", metavar="TEXT", help="what the model is told first")
    @argument("--new", action="store_true", help="begin a new conversation")
    @argument("--max-new-tokens", type=int, metavar="N", help="at most so long an answer")
    @argument(
        "--temperature", type=float, metavar="T", help="0 (default): the most probable tokens"
    )
    @argument("--top-k", type=int, metavar="K", help="draw from the K most probable tokens")
    @argument("--top-p", type=float, metavar="P", help="draw from what is this probable together")
    @argument("--min-p", type=float, metavar="P", help="leave out what is less probable than this")
    @argument("--seed", type=int, metavar="N", help="the same seed gives the same answer")
    @common_options
    @line_cell_magic
    def etchat(self, line: str, cell: str | None = None) -> None:
        """Say what stands in the cell, and show the answer as it comes.

        `%%etchat runner --max-new-tokens 100`, then the question. The next cell goes on with the
        conversation. `%etchat runner` shows what was said. The kernel's stop button ends an answer,
        within the current token; what came of it stays.
        """
        arguments = parse_argstring(self.etchat, line)
        name = check_name(arguments.name)
        with one_line_errors("etchat", "call etlab.llm.Chat yourself for the traceback"):
            chat, code = self._chat(arguments)
            given = {
                key: value for key in _OPTIONS if (value := getattr(arguments, key)) is not None
            }
            if cell is None:
                self._show(chat)
            elif not cell.strip():
                raise UsageError("the cell is empty: write in it what to say")
            else:
                self._say(chat, cell.strip(), given)
            keywords: dict[str, str | None] = {key: repr(value) for key, value in given.items()}
            said = "chat" if cell is None else as_call("chat.send", [repr(cell.strip())], keywords)
            finish(
                self.shell,
                chat,
                f"chat = {code}\n{said}",
                name=name,
                print_code=arguments.print_code,
                imports=["from etlab.llm import Chat"],
            )

    def _chat(self, arguments: Any) -> tuple[Any, str]:
        """The conversation that goes on, or a new one; and how it is made."""
        from etlab.llm import Chat, Runner

        text = text_of(arguments.model) or ""
        system = text_of(arguments.system)
        subject = evaluate(self.shell, text, "etchat")
        if isinstance(subject, Chat):
            if system is not None:
                raise UsageError(f"--system: {text} is a conversation already; give its runner")
            if arguments.new:
                subject.reset()
            return subject, text
        if not isinstance(subject, Runner):
            raise UsageError(
                f"{text} is {type(subject).__name__}, not an etlab.llm.Runner or Chat"
                " (make one: etlab.llm.Runner('model.pte', 'tokenizer.json'))"
            )
        chat = subject.conversation
        if chat is None or arguments.new or system is not None:
            chat = subject.conversation = Chat(subject, system=system)
        keywords = {"system": repr(system) if system is not None else None}
        return chat, as_call("Chat", [text], keywords)

    def _show(self, chat: Any) -> None:
        if hasattr(self.shell, "kernel"):
            _show_html(chat.transcript_html(has_numbers=options.progress), repr(chat))
        else:
            for message in chat.messages:
                print(f"{message.role}: {message.content}")

    def _say(self, chat: Any, text: str, given: dict[str, Any]) -> None:
        is_notebook = hasattr(self.shell, "kernel")
        shown: _NotebookAnswer | _TerminalAnswer = (
            _NotebookAnswer(chat) if is_notebook else _TerminalAnswer()
        )
        try:
            result = chat.send(text, shown.see, **given)
        except KeyboardInterrupt:
            shown.end("stopped; what came of the answer is part of the conversation")
            return
        except EtlabError:
            shown.end("")
            raise
        shown.end(str(result.stats) if options.progress else "")


class _TerminalAnswer:
    """Writes an answer as it comes."""

    def see(self, piece: str) -> None:
        """One more piece."""
        print(piece, end="", flush=True)

    def end(self, note: str) -> None:
        """Say how it went."""
        print()
        if note and sys.stderr.isatty():
            print(note, file=sys.stderr)


class _NotebookAnswer:
    """One output that grows; a saved notebook keeps its last state."""

    def __init__(self, chat: Any) -> None:
        self._chat = chat
        self._drawn = time.monotonic()
        self._update: Callable[[str, str], None] = _new_output()

    def see(self, _: str) -> None:
        """One more piece."""
        if time.monotonic() - self._drawn < _REFRESH:
            return
        self._drawn = time.monotonic()
        live = self._chat.live
        note = f"{live.token_count} tokens, {live.rate:.1f} tok/s …" if options.progress else ""
        self._update(live.text, note)

    def end(self, note: str) -> None:
        """The whole answer."""
        self._update(self._chat.live.text, note)


def _new_output() -> Callable[[str, str], None]:
    from IPython.display import display

    handle = display({"text/plain": ""}, raw=True, display_id=True)

    def update(text: str, note: str) -> None:
        if handle is not None:
            handle.update({"text/html": _answer_html(text, note), "text/plain": text}, raw=True)

    return update


def _answer_html(text: str, note: str) -> str:
    under = (
        f'<div style="opacity:.7;font-size:85%" role="status">{markup.escape(note)}</div>'
        if note
        else ""
    )
    return f'<div style="white-space:pre-wrap">{markup.escape(text)}</div>{under}'


def _show_html(html: str, text: str) -> None:
    from IPython.display import display

    display({"text/html": markup.card("Chat", html), "text/plain": text}, raw=True)


MAGICS = ChatMagics
