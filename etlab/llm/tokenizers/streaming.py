"""The text of tokens that come one by one."""

from collections.abc import Sequence

from etlab.llm.tokenizers.base import Tokenizer

_REPLACEMENT = "\N{REPLACEMENT CHARACTER}"


class TextStream:
    """Gives text as soon as it is sure: never a part of a character.

    What a token means depends on its neighbours: bytes of one character can be several tokens, and
    some vocabularies write a space before a word only where something stands before it. So each
    step decodes a small window, and gives what is new in it.

    >>> stream = TextStream(tokenizer)                          # doctest: +SKIP
    >>> "".join(stream.push(token) for token in tokens) + stream.flush()   # doctest: +SKIP

    Args:
        tokenizer: decodes.
        before: tokens that stand before, whose text is not given.
    """

    def __init__(self, tokenizer: Tokenizer, before: Sequence[int] = ()) -> None:
        self._tokenizer = tokenizer
        self._window = list(before[-_CONTEXT:])
        self._given = self._decode()  # text of the window that was given, or stands before

    def push(self, token: int) -> str:
        """What is sure with one more token; often empty."""
        self._window.append(token)
        text = self._decode()
        if text.endswith(_REPLACEMENT):  # a character that the next token may complete
            return ""
        return self._advance(text)

    def flush(self) -> str:
        """What is left at the end: an unfinished character, as U+FFFD."""
        return self._advance(self._decode())

    def _advance(self, text: str) -> str:
        new = text[len(self._given) :]
        if len(self._window) > 2 * _CONTEXT:
            self._window = self._window[-_CONTEXT:]
            text = self._decode()
        self._given = text
        return new

    def _decode(self) -> str:
        return self._tokenizer.decode(self._window)


_CONTEXT = 8  # tokens; what comes further before changes nothing
