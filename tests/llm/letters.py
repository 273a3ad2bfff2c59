"""A tokenizer of 23 letters for the tiny model."""

from collections.abc import Sequence

LETTERS = "_^abcde.fghijklmnopqrst"  # 1 begins a text, 5 ends one as the program says


class Letters:
    """A letter a token; `[n]` are special tokens' names; see `etlab.llm.tokenizers.Tokenizer`."""

    def __init__(self, *, adds_bos: bool = False, chat_template: str | None = None) -> None:
        self.vocabulary_size = len(LETTERS)
        self.bos_id: int | None = 1
        self.adds_bos = adds_bos
        self.eos_ids: tuple[int, ...] = ()
        self.chat_template = chat_template

    def encode(self, text: str, *, has_special: bool = False) -> list[int]:
        if has_special:
            text = text.replace("<end>", ".")
        return [LETTERS.find(letter) for letter in text if letter in LETTERS]

    def decode(self, tokens: Sequence[int], *, keep_special: bool = False) -> str:
        return "".join(LETTERS[token] for token in tokens)

    def token_bytes(self, token: int) -> bytes | None:
        name = self.token_name(token)
        return None if name is None or token == self.bos_id else name.encode()

    def token_name(self, token: int) -> str | None:
        return LETTERS[token] if 0 <= token < len(LETTERS) else None
