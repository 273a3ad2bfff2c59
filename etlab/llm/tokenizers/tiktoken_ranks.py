"""Files of tiktoken (`tokenizer.model` of Llama 3): a token in base64 and its rank in each line."""

import base64
import binascii
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError
from etlab.llm.tokenizers.base import import_library
from etlab.llm.tokenizers.patterns import LLAMA_3

_RESERVED = 256  # special tokens of Llama 3, behind the ranks
_NAMED = {
    0: "<|begin_of_text|>",
    1: "<|end_of_text|>",
    4: "<|finetune_right_pad_id|>",
    6: "<|start_header_id|>",
    7: "<|end_header_id|>",
    8: "<|eom_id|>",
    9: "<|eot_id|>",
    10: "<|python_tag|>",
}
_ENDS = ("<|end_of_text|>", "<|eom_id|>", "<|eot_id|>")


class TiktokenTokenizer:
    """Llama 3's vocabulary in the library `tiktoken`; see `Tokenizer`.

    Args:
        inner: a `tiktoken.Encoding`.
        special: names of special tokens and their numbers.
    """

    chat_template: str | None = None

    def __init__(self, inner: Any, special: dict[str, int]) -> None:
        self._inner = inner
        self._special = special
        self._names = {token: name for name, token in special.items()}
        self.vocabulary_size: int = inner.n_vocab
        self.bos_id: int | None = special["<|begin_of_text|>"]
        self.adds_bos = True
        self.eos_ids = tuple(special[name] for name in _ENDS)

    def encode(self, text: str, *, has_special: bool = False) -> list[int]:
        """As `Tokenizer` says."""
        tokens: list[int] = self._inner.encode(
            text, allowed_special="all" if has_special else set(), disallowed_special=()
        )
        return tokens

    def decode(self, tokens: Sequence[int], *, keep_special: bool = False) -> str:
        """As `Tokenizer` says."""
        kept = [token for token in tokens if keep_special or token not in self._names]
        text: str = self._inner.decode(kept, errors="replace")
        return text

    def token_name(self, token: int) -> str | None:
        """As `Tokenizer` says."""
        if token in self._names:
            return self._names[token]
        content = self.token_bytes(token)
        return None if content is None else content.decode("utf-8", "backslashreplace")

    def token_bytes(self, token: int) -> bytes | None:
        """As `Tokenizer` says."""
        if token in self._names:
            return None
        try:
            content: bytes = self._inner.decode_single_token_bytes(token)
        except (KeyError, OverflowError):
            return None
        return content


def is_ranks(content: bytes) -> bool:
    """Whether a file begins as such files do: `IQ== 0`."""
    first = content.partition(b"\n")[0].split()
    if len(first) != 2 or not first[1].isdigit():
        return False
    try:
        base64.b64decode(first[0], validate=True)
    except binascii.Error:
        return False
    return True


def load(path: Path) -> TiktokenTokenizer:
    """Read a file of ranks; the pattern and the special tokens are Llama 3's.

    Raises:
        InvalidArgumentError: a line is none.
        NotSupportedError: the library is missing.
    """
    library = import_library("tiktoken", "a tiktoken file")
    ranks: dict[bytes, int] = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        if not line.strip():
            continue
        try:
            token, rank = line.split()
            ranks[base64.b64decode(token, validate=True)] = int(rank)
        except ValueError as error:  # binascii.Error is one
            raise InvalidArgumentError(
                f"'{path}', line {number}: expected a token in base64 and its rank, got"
                f" {line[:40]!r}"
            ) from error
    special = _special_tokens(len(ranks))
    try:
        inner = library.Encoding(
            path.name, pat_str=LLAMA_3, mergeable_ranks=ranks, special_tokens=special
        )
    except (ValueError, AssertionError, KeyError) as error:
        raise InvalidArgumentError(f"'{path}' is no tiktoken file: {error}") from error
    return TiktokenTokenizer(inner, special)


def _special_tokens(begin: int) -> dict[str, int]:
    """The names of Llama 3.1; those without a meaning are numbered as they come."""
    names: list[str] = []
    reserved = 0
    for place in range(_RESERVED):
        if place in _NAMED:
            names.append(_NAMED[place])
        else:
            names.append(f"<|reserved_special_token_{reserved}|>")
            reserved += 1
    return {name: begin + place for place, name in enumerate(names)}
