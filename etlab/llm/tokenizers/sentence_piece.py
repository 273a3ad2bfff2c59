"""SentencePiece models (`tokenizer.model` of Llama 2, Phi-3, Gemma), through `sentencepiece`."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.llm.tokenizers.base import import_library
from etlab.llm.tokenizers.spelling import bytes_of_piece


class SentencePieceTokenizer:
    """A model of the library `sentencepiece`; see `Tokenizer`.

    Args:
        inner: a `sentencepiece.SentencePieceProcessor`.
    """

    chat_template: str | None = None

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.vocabulary_size: int = inner.get_piece_size()
        self.bos_id: int | None = inner.bos_id() if inner.bos_id() >= 0 else None
        self.adds_bos = self.bos_id is not None
        self.eos_ids: tuple[int, ...] = (inner.eos_id(),) if inner.eos_id() >= 0 else ()
        self._special = {
            inner.id_to_piece(token): token
            for token in range(self.vocabulary_size)
            if inner.is_control(token)
        }

    def encode(self, text: str, *, has_special: bool = False) -> list[int]:
        """As `Tokenizer` says."""
        tokens: list[int] = []
        names = self._special if has_special else {}
        pattern = "|".join(re.escape(name) for name in sorted(names, key=len, reverse=True))
        parts = re.split(f"({pattern})", text) if pattern else [text]
        for part in parts:
            if part in names:
                tokens.append(names[part])
            elif part:
                tokens += self._inner.encode(part)
        return tokens

    def decode(self, tokens: Sequence[int], *, keep_special: bool = False) -> str:
        """As `Tokenizer` says."""
        if not keep_special:
            text: str = self._inner.decode(list(tokens))
            return text
        parts: list[str] = []
        run: list[int] = []
        for token in tokens:
            if self._inner.is_control(token):
                parts += [self._inner.decode(run), self._inner.id_to_piece(token)]
                run = []
            else:
                run.append(token)
        return "".join([*parts, self._inner.decode(run)])

    def token_name(self, token: int) -> str | None:
        """As `Tokenizer` says."""
        if not 0 <= token < self.vocabulary_size:
            return None
        name: str = self._inner.id_to_piece(token)
        return name

    def token_bytes(self, token: int) -> bytes | None:
        """As `Tokenizer` says."""
        name = self.token_name(token)
        is_special = self._inner.is_control(token) if name is not None else True
        return None if name is None or is_special else bytes_of_piece(name)


def load(path: Path) -> SentencePieceTokenizer:
    """Read a SentencePiece model.

    Raises:
        InvalidArgumentError: the file is none.
        NotSupportedError: the library is missing.
    """
    library = import_library("sentencepiece", "a SentencePiece model")
    try:
        return SentencePieceTokenizer(library.SentencePieceProcessor(model_file=str(path)))
    except (RuntimeError, OSError) as error:
        raise InvalidArgumentError(f"'{path}' is no SentencePiece model: {error}") from error
