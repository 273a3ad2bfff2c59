"""A vocabulary as a file for `etlab-run-llm`, which has no library of tokenizers."""

import os
from pathlib import Path

from etlab.llm.tokenizers.base import Tokenizer


def write_vocabulary(tokenizer: Tokenizer, path: str | os.PathLike[str]) -> Path:
    """Write what each token says, so that `etlab-run-llm --vocabulary` can print text.

    Args:
        tokenizer: `load_tokenizer` gives one.
        path: where to write: a line a token, in hexadecimal digits, special ones behind "!".

    Returns:
        The path.
    """
    lines = [f"etlab vocabulary 1 {tokenizer.vocabulary_size}"]
    for token in range(tokenizer.vocabulary_size):
        content = tokenizer.token_bytes(token)
        if content is None:
            lines.append("!" + (tokenizer.token_name(token) or "").encode().hex())
        else:
            lines.append(content.hex())
    place = Path(path)
    place.write_text("\n".join(lines) + "\n", encoding="ascii")
    return place
