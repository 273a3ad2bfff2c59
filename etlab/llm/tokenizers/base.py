"""What a tokenizer must do."""

import importlib
from collections.abc import Sequence
from types import ModuleType
from typing import Protocol

from etlab.errors import NotSupportedError


class Tokenizer(Protocol):
    """Text to the numbers of tokens and back.

    Attributes:
        vocabulary_size: how many tokens there are.
        bos_id: the token that begins a text; None when there is none.
        adds_bos: whether the model wants it before every text.
        eos_ids: tokens that end a text, or a turn of a conversation.
        chat_template: Jinja source that makes one text of a conversation; None when there is none.
    """

    vocabulary_size: int
    bos_id: int | None
    adds_bos: bool
    eos_ids: tuple[int, ...]
    chat_template: str | None

    def encode(self, text: str, *, has_special: bool = False) -> list[int]:
        """Tokens of a text, without a begin or an end.

        Args:
            text: anything.
            has_special: whether the names of special tokens ("<|im_end|>") mean these tokens, as in
                a text that a chat template made, or are ordinary text, as in what a user typed.
        """

    def decode(self, tokens: Sequence[int], *, keep_special: bool = False) -> str:
        """The text of tokens; bytes that are no UTF-8 become U+FFFD.

        Args:
            tokens: of a text from its beginning.
            keep_special: whether special tokens are written by their names, or left out.
        """

    def token_name(self, token: int) -> str | None:
        """How the vocabulary writes a token; None outside of it."""

    def token_bytes(self, token: int) -> bytes | None:
        """What a token says, which can be a part of a character; None if it is special, or outside.

        Vocabularies that begin words with a space give it to the first word of a text, too.
        """


def import_library(name: str, kind: str) -> ModuleType:
    """A library that an extra brings.

    Raises:
        NotSupportedError: it is not installed; the message says how to.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise NotSupportedError(
            f"{kind} needs the package {name}, which is not installed; install etlab's extra 'llm':"
            " pip install 'etlab[llm]'"
        ) from error
