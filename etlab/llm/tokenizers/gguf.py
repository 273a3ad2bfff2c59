"""The vocabulary in a GGUF file's metadata, as a tokenizer of the library `tokenizers`.

Keys: github.com/ggml-org/ggml, docs/gguf.md.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.llm.tokenizers.base import import_library
from etlab.llm.tokenizers.hugging_face import HuggingFaceTokenizer
from etlab.llm.tokenizers.patterns import GPT_4O, LLAMA_3, QWEN_2

_KEY = "tokenizer.ggml."
_UNKNOWN, _CONTROL, _USER_DEFINED = 2, 3, 4  # token types
_ENDS = ("eos_token_id", "eot_token_id", "eom_token_id")
_PATTERNS = {"llama-bpe": LLAMA_3, "llama3": LLAMA_3, "qwen2": QWEN_2, "gpt-4o": GPT_4O}
_PLAIN = ("default", "gpt-2")
_DIGITS_APART = ("smollm",)
_SPACE = "▁"


def tokenizer_of(metadata: Mapping[str, Any]) -> HuggingFaceTokenizer:
    """The tokenizer that the metadata of a GGUF file describe.

    Raises:
        InvalidArgumentError: a key is missing or damaged; the message names it.
        NotSupportedError: the vocabulary is of a kind that is not read, or the library is missing.
    """
    library = import_library("tokenizers", "the tokenizer of a GGUF file")
    kind = _entry(metadata, "model", str)
    if kind == "gpt2":
        inner = _byte_level(library, metadata)
    elif kind == "llama":
        inner = _scored(library, metadata)
    else:
        raise NotSupportedError(
            f"{_KEY}model is '{kind}'; etlab reads 'gpt2' (byte pairs) and 'llama' (SentencePiece)."
            " Give the model's tokenizer.json instead"
        )
    names = _names(metadata)
    _add_special(library, inner, names, metadata)
    bos = _token(metadata, "bos_token_id", names)
    is_default = kind == "llama" or metadata.get(f"{_KEY}pre") in ("llama-bpe", "llama3")
    return HuggingFaceTokenizer(
        inner,
        bos=bos,
        eos=[end for key in _ENDS if (end := _token(metadata, key, names)) is not None],
        adds_bos=bool(metadata.get(f"{_KEY}add_bos_token", is_default)),
        chat_template=metadata.get("tokenizer.chat_template"),
    )


def _byte_level(library: Any, metadata: Mapping[str, Any]) -> Any:
    """Byte pairs, merged in a given order."""
    merges = [tuple(pair.split(" ")) for pair in _entry(metadata, "merges", list)]
    vocabulary = {name: token for token, name in enumerate(_names(metadata))}
    inner = library.Tokenizer(_bpe(library, vocabulary, merges))
    inner.pre_tokenizer = library.pre_tokenizers.Sequence(
        _word_cutters(library, metadata.get(f"{_KEY}pre", "default"))
    )
    inner.decoder = library.decoders.ByteLevel()
    return inner


def _word_cutters(library: Any, pre: str) -> list[Any]:
    cutters = library.pre_tokenizers
    if pre in _PATTERNS:
        pattern = library.Regex(_PATTERNS[pre])
        return [
            cutters.Split(pattern, "isolated"),
            cutters.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    whole = cutters.ByteLevel(add_prefix_space=False, use_regex=True)
    if pre in _DIGITS_APART:
        return [cutters.Digits(individual_digits=True), whole]
    if pre in _PLAIN:
        return [whole]
    raise NotSupportedError(
        f"{_KEY}pre is '{pre}', a way of cutting words that etlab does not know; it knows"
        f" {', '.join([*_PATTERNS, *_DIGITS_APART, *_PLAIN])}. Give the model's tokenizer.json"
        " instead"
    )


def _scored(library: Any, metadata: Mapping[str, Any]) -> Any:
    """SentencePiece's byte pairs: the pair that makes the piece of the highest score is merged."""
    names, scores = _names(metadata), _entry(metadata, "scores", list)
    vocabulary = {name: token for token, name in enumerate(names)}
    pairs = [
        (-scores[token], token, (name[:place], name[place:]))
        for token, name in enumerate(names)
        for place in range(1, len(name))
        if name[:place] in vocabulary and name[place:] in vocabulary
    ]
    merges = [pair for _, _, pair in sorted(pairs, key=lambda one: one[:2])]
    unknown = next((names[i] for i, kind in enumerate(_types(metadata)) if kind == _UNKNOWN), None)
    inner = library.Tokenizer(
        _bpe(library, vocabulary, merges, unk_token=unknown, fuse_unk=True, byte_fallback=True)
    )
    normalizers, decoders = library.normalizers, library.decoders
    has_prefix = metadata.get(f"{_KEY}add_space_prefix", True)
    inner.normalizer = normalizers.Sequence(
        [
            *([normalizers.Prepend(_SPACE)] if has_prefix else []),
            normalizers.Replace(" ", _SPACE),
        ]
    )
    inner.decoder = decoders.Sequence(
        [
            decoders.Replace(_SPACE, " "),
            decoders.ByteFallback(),
            decoders.Fuse(),
            *([decoders.Strip(" ", 1, 0)] if has_prefix else []),
        ]
    )
    return inner


def _bpe(library: Any, vocabulary: dict[str, int], merges: list[Any], **options: Any) -> Any:
    try:
        return library.models.BPE(vocab=vocabulary, merges=merges, **options)
    except Exception as error:  # the library raises plain Exception
        raise InvalidArgumentError(
            f"{_KEY}tokens and {_KEY}merges do not go together: {error}"
        ) from error


def _add_special(
    library: Any, inner: Any, names: Sequence[str], metadata: Mapping[str, Any]
) -> None:
    types = _types(metadata)
    added = {_UNKNOWN: True, _CONTROL: True, _USER_DEFINED: False}
    tokens = [
        library.AddedToken(name, special=added[kind], normalized=False)
        for name, kind in zip(names, types, strict=True)
        if kind in added
    ]
    inner.add_special_tokens([token for token in tokens if token.special])
    inner.add_tokens([token for token in tokens if not token.special])


def _types(metadata: Mapping[str, Any]) -> list[int]:
    types = metadata.get(f"{_KEY}token_type", [])
    names = _names(metadata)
    if types and len(types) != len(names):
        raise InvalidArgumentError(
            f"{_KEY}token_type has {len(types)} entries, {_KEY}tokens {len(names)}"
        )
    return list(types) or [1] * len(names)


def _names(metadata: Mapping[str, Any]) -> list[str]:
    names: list[str] = _entry(metadata, "tokens", list)
    return names


def _entry(metadata: Mapping[str, Any], key: str, kind: type) -> Any:
    value = metadata.get(_KEY + key)
    if not isinstance(value, kind):
        raise InvalidArgumentError(
            f"the GGUF metadata have no {_KEY}{key}"
            if value is None
            else f"{_KEY}{key}: expected {kind.__name__}, got {type(value).__name__}"
        )
    return value


def _token(metadata: Mapping[str, Any], key: str, names: Sequence[str]) -> str | None:
    token = metadata.get(_KEY + key)
    if token is None:
        return None
    if not isinstance(token, int) or not 0 <= token < len(names):
        raise InvalidArgumentError(f"{_KEY}{key} is {token!r}, the vocabulary has {len(names)}")
    return names[token]
