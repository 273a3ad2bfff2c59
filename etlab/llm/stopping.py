"""Texts that end a generation."""

from collections.abc import Sequence

from etlab.errors import InvalidArgumentError


class StopTexts:
    """Holds back what could be the beginning of a stop text until more is known.

    >>> stop = StopTexts(["END"])
    >>> stop.push("so E"), stop.push("NDs"), stop.is_found
    ('so ', '', True)

    Args:
        texts: any of them ends a text.

    Raises:
        InvalidArgumentError: one is empty, or no text.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        if isinstance(texts, str) or not all(isinstance(text, str) and text for text in texts):
            raise InvalidArgumentError(f"stop: expected a list of texts, got {texts!r}")
        self._texts = tuple(texts)
        self._held = ""
        self.is_found = False

    def push(self, piece: str) -> str:
        """What of the text so far is no part of a stop text for sure."""
        text = self._held + piece
        places = [place for stop in self._texts if (place := text.find(stop)) >= 0]
        if places:
            self.is_found = True
            self._held = ""
            return text[: min(places)]
        sure = len(text) - max((_overlap(text, stop) for stop in self._texts), default=0)
        self._held = text[sure:]
        return text[:sure]

    def flush(self) -> str:
        """What was held back, at the end."""
        held, self._held = self._held, ""
        return held


def _overlap(text: str, stop: str) -> int:
    """The longest end of `text` that begins `stop`."""
    longest = min(len(text), len(stop) - 1)
    return next((n for n in range(longest, 0, -1) if text.endswith(stop[:n])), 0)
