"""Which kind of tokenizer a file is."""

import os
from pathlib import Path

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm.tokenizers import gguf, hugging_face, sentence_piece, tiktoken_ranks
from etlab.llm.tokenizers.base import Tokenizer
from etlab.models.gguf import GgufFile

_NAMES = ("tokenizer.json", "tokenizer.model")  # in a folder
_KINDS = (
    "tokenizer.json, a SentencePiece or tiktoken tokenizer.model, a .gguf file, or their folder"
)


def load_tokenizer(path: str | os.PathLike[str]) -> Tokenizer:
    """The tokenizer in a file, whose kind is found by what is in it, or in a model's folder.

    Args:
        path: `tokenizer.json` (Hugging Face; the files beside it are read, too), `tokenizer.model`
            (SentencePiece or tiktoken), a GGUF file, or a folder with one of them.

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is no tokenizer, or a damaged one.
        NotSupportedError: a vocabulary of another kind, or a library is missing.
    """
    place = Path(path)
    if place.is_dir():
        found = [place / name for name in _NAMES if (place / name).exists()]
        found += sorted(place.glob("*.gguf"))
        if not found:
            raise NotFoundError(f"the folder '{place}' has no tokenizer; expected {_KINDS}")
        place = found[0]
    if not place.exists():
        raise NotFoundError(f"there is no tokenizer '{place}'; expected {_KINDS}")
    with place.open("rb") as file:
        head = file.read(256)
    if head[:4] == b"GGUF":
        return gguf.tokenizer_of(GgufFile(place).metadata)
    if head.lstrip()[:1] == b"{":
        return hugging_face.load(place)
    if tiktoken_ranks.is_ranks(head):
        return tiktoken_ranks.load(place)
    if place.suffix == ".pte":
        raise InvalidArgumentError(f"'{place}' is a program, not a tokenizer; expected {_KINDS}")
    return sentence_piece.load(place)
