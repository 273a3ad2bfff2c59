"""`tokenizer.json` and the files beside it, through the library `tokenizers`."""

import functools
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.llm.json_files import read_json_if_there
from etlab.llm.tokenizers.base import import_library
from etlab.llm.tokenizers.spelling import bytes_of_alphabet, bytes_of_piece

# Names that families give to the end of a text or of a turn.
_ENDS = (
    "<|end_of_text|>",
    "<|eot_id|>",
    "<|eom_id|>",
    "<|endoftext|>",
    "<|im_end|>",
    "<|end|>",
    "</s>",
)


class HuggingFaceTokenizer:
    """A tokenizer of the library `tokenizers`; see `Tokenizer`.

    Args:
        inner: a `tokenizers.Tokenizer`.
        bos: name of the token that begins a text, if there is one.
        eos: names of tokens that end a text; by default the usual ones that the vocabulary has.
        adds_bos: whether the model wants `bos` before every text.
        chat_template: Jinja source.
    """

    def __init__(
        self,
        inner: Any,
        *,
        bos: str | None = None,
        eos: Sequence[str] | None = None,
        adds_bos: bool = False,
        chat_template: str | None = None,
    ) -> None:
        self._inner = inner
        self.vocabulary_size: int = inner.get_vocab_size()
        self.bos_id: int | None = None if bos is None else inner.token_to_id(bos)
        self.adds_bos = adds_bos and self.bos_id is not None
        ends = [inner.token_to_id(name) for name in (_ENDS if eos is None else eos)]
        self.eos_ids = tuple(dict.fromkeys(end for end in ends if end is not None))
        self.chat_template = chat_template

    def encode(self, text: str, *, has_special: bool = False) -> list[int]:
        """As `Tokenizer` says."""
        self._inner.encode_special_tokens = not has_special
        tokens: list[int] = self._inner.encode(text, add_special_tokens=False).ids
        return tokens

    def decode(self, tokens: Sequence[int], *, keep_special: bool = False) -> str:
        """As `Tokenizer` says."""
        text: str = self._inner.decode(list(tokens), skip_special_tokens=not keep_special)
        return text

    def token_name(self, token: int) -> str | None:
        """As `Tokenizer` says."""
        name: str | None = self._inner.id_to_token(token)
        return name

    def token_bytes(self, token: int) -> bytes | None:
        """As `Tokenizer` says.

        Raises:
            NotSupportedError: the vocabulary writes its tokens in another way.
        """
        name = self.token_name(token)
        if token in self._added:
            return None if self._added[token].special else self._added[token].content.encode()
        return None if name is None else self._spelling(name)

    @functools.cached_property
    def _added(self) -> Mapping[int, Any]:
        """Tokens that are written as they are."""
        added: Mapping[int, Any] = self._inner.get_added_tokens_decoder()
        return added

    @functools.cached_property
    def _spelling(self) -> Callable[[str], bytes]:
        decoder = self._inner.decoder
        described = "" if decoder is None else decoder.__getstate__().decode()
        if '"ByteLevel"' in described:
            return bytes_of_alphabet
        if '"ByteFallback"' in described or '"Metaspace"' in described:
            return bytes_of_piece
        raise NotSupportedError(
            "the bytes of single tokens are known for byte-level and SentencePiece vocabularies"
            " only; this tokenizer.json has another decoder"
        )


def load(path: Path) -> HuggingFaceTokenizer:
    """Read `tokenizer.json` and, beside it, `tokenizer_config.json` and `chat_template.jinja`.

    Raises:
        InvalidArgumentError: a file is damaged; the message names it.
        NotSupportedError: the library is missing.
    """
    library = import_library("tokenizers", "tokenizer.json")
    try:
        inner = library.Tokenizer.from_file(str(path))
    except Exception as error:  # the library raises plain Exception
        raise InvalidArgumentError(f"'{path}' is no tokenizer.json: {error}") from error
    folder = path.parent
    config = read_json_if_there(folder / "tokenizer_config.json", "the tokenizer's settings")
    generation = read_json_if_there(folder / "generation_config.json", "the generation's settings")
    template = folder / "chat_template.jinja"
    tokenizer = HuggingFaceTokenizer(
        inner,
        bos=_name(config.get("bos_token")),
        adds_bos=_adds_bos(inner, config),
        chat_template=template.read_text(encoding="utf-8")
        if template.exists()
        else _default_template(config.get("chat_template")),
    )
    named = [inner.token_to_id(name) for name in [_name(config.get("eos_token"))] if name]
    given = generation.get("eos_token_id", [])
    ends = [*named, *(given if isinstance(given, list) else [given]), *tokenizer.eos_ids]
    tokenizer.eos_ids = tuple(dict.fromkeys(end for end in ends if isinstance(end, int)))
    return tokenizer


def _name(entry: Any) -> str | None:
    """A special token is written as text, or as an object with its text."""
    name = entry.get("content") if isinstance(entry, dict) else entry
    return name if isinstance(name, str) else None


def _adds_bos(inner: Any, config: Mapping[str, Any]) -> bool:
    """Whether the tokenizer itself would put a beginning before a text."""
    if "add_bos_token" in config:
        return bool(config["add_bos_token"])
    bos = _name(config.get("bos_token"))
    tokens = inner.encode("a", add_special_tokens=True).ids
    return bos is not None and len(tokens) > 0 and tokens[0] == inner.token_to_id(bos)


def _default_template(entry: Any) -> str | None:
    """The template, or the default one of several with names."""
    if isinstance(entry, list):
        named = {item.get("name"): item.get("template") for item in entry if isinstance(item, dict)}
        entry = named.get("default")
    return entry if isinstance(entry, str) else None
