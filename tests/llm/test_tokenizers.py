"""Tokenizers of every kind: to tokens and back, special tokens, text as it comes."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from etlab.errors import InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm.tokenizers import TextStream, Tokenizer, gguf, load_tokenizer

tokenizers = pytest.importorskip("tokenizers")

CORPUS = [
    "The quick brown fox jumps over the lazy dog, 1234 times.",
    "Zwölf Boxkämpfer jagen Viktor quer über den Sylter Deich.",
    "def forward(self, x):\n    return self.linear(x)  # it's done",
] * 3
TEXTS = [
    "The lazy fox",
    " two  spaces and\n\nlines ",
    "naïve 🦙🇫🇷 日本語 e\N{COMBINING ACUTE ACCENT}",
    "it's 20245 o'clock",
    "",
]
BOS, END = "<|begin|>", "<|im_end|>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of Hugging Face with a byte-level vocabulary trained on the corpus."""
    path = tmp_path_factory.mktemp("model")
    inner = tokenizers.Tokenizer(tokenizers.models.BPE())
    inner.pre_tokenizer = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = tokenizers.decoders.ByteLevel()
    trainer = tokenizers.trainers.BpeTrainer(
        vocab_size=330,
        special_tokens=[BOS, END],
        initial_alphabet=tokenizers.pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    inner.train_from_iterator(CORPUS, trainer)
    inner.save(str(path / "tokenizer.json"))
    config = {"bos_token": {"content": BOS}, "add_bos_token": True, "chat_template": "{{ 1 }}"}
    (path / "tokenizer_config.json").write_text(json.dumps(config))
    return path


@pytest.fixture(scope="module")
def sentence_pieces(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("pieces")
    library.SentencePieceTrainer.train(
        sentence_iterator=iter(CORPUS),
        model_prefix=str(folder / "tokenizer"),
        vocab_size=360,
        model_type="bpe",
        byte_fallback=True,
        normalization_rule_name="identity",
        remove_extra_whitespaces=False,
        minloglevel=2,
    )
    return folder / "tokenizer.model"


@pytest.fixture(scope="module")
def ranks(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same vocabulary as a file of tiktoken."""
    vocabulary = json.loads((folder / "tokenizer.json").read_text())["model"]["vocab"]
    decoder = tokenizers.decoders.ByteLevel()
    contents = [bytes([value]) for value in range(256)]
    for name in sorted(vocabulary, key=vocabulary.get):
        content = decoder.decode([name]).encode()
        if len(content) > 1 and "\N{REPLACEMENT CHARACTER}" not in content.decode():
            contents.append(content)
    contents = list(dict.fromkeys(contents))
    path = tmp_path_factory.mktemp("ranks") / "tokenizer.model"
    path.write_bytes(
        b"".join(b"%s %d\n" % (base64.b64encode(one), rank) for rank, one in enumerate(contents))
    )
    return path


def gguf_metadata(sentence_pieces: Path) -> dict[str, Any]:
    """A SentencePiece model in the keys of GGUF."""
    library = pytest.importorskip("sentencepiece")
    model = library.SentencePieceProcessor(model_file=str(sentence_pieces))
    tokens = range(model.get_piece_size())
    kinds = [
        2 if model.is_unknown(i) else 3 if model.is_control(i) else 6 if model.is_byte(i) else 1
        for i in tokens
    ]
    return {
        "tokenizer.ggml.model": "llama",
        "tokenizer.ggml.tokens": [model.id_to_piece(i) for i in tokens],
        "tokenizer.ggml.scores": [model.get_score(i) for i in tokens],
        "tokenizer.ggml.token_type": kinds,
        "tokenizer.ggml.bos_token_id": model.bos_id(),
        "tokenizer.ggml.eos_token_id": model.eos_id(),
    }


@pytest.fixture(params=["hugging face", "sentence piece", "tiktoken", "gguf"])
def tokenizer(
    request: pytest.FixtureRequest, folder: Path, sentence_pieces: Path, ranks: Path
) -> Tokenizer:
    if request.param == "gguf":
        return gguf.tokenizer_of(gguf_metadata(sentence_pieces))
    places = {"hugging face": folder, "sentence piece": sentence_pieces, "tiktoken": ranks}
    return load_tokenizer(places[request.param])


@pytest.mark.parametrize("text", TEXTS)
def test_texts_come_back(tokenizer: Tokenizer, text: str) -> None:
    tokens = tokenizer.encode(text)
    assert all(0 <= token < tokenizer.vocabulary_size for token in tokens)
    assert tokenizer.decode(tokens) == text


@pytest.mark.parametrize("text", TEXTS)
def test_text_comes_in_whole_characters(tokenizer: Tokenizer, text: str) -> None:
    stream = TextStream(tokenizer)
    pieces = [stream.push(token) for token in tokenizer.encode(text)]
    assert "".join(pieces) + stream.flush() == text
    assert not any("\N{REPLACEMENT CHARACTER}" in piece for piece in pieces)


@pytest.mark.parametrize("text", TEXTS)
def test_bytes_of_tokens_add_up_to_the_text(tokenizer: Tokenizer, text: str) -> None:
    contents = [tokenizer.token_bytes(token) for token in tokenizer.encode(text)]
    assert None not in contents
    assert b"".join(content or b"" for content in contents).decode() in (text, f" {text}")
    assert tokenizer.token_bytes(10**6) is None


def test_a_long_text_comes_as_it_is(tokenizer: Tokenizer) -> None:
    text = " ".join(CORPUS)
    tokens = tokenizer.encode(text)
    stream = TextStream(tokenizer, tokens[:20])
    after = "".join(stream.push(token) for token in tokens[20:]) + stream.flush()
    assert tokenizer.decode(tokens[:20]) + after == text


def test_an_unfinished_character_comes_at_the_end(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    tokens = tokenizer.encode("a🦙")[:-1]
    stream = TextStream(tokenizer)
    assert "".join(stream.push(token) for token in tokens) == "a"
    assert set(stream.flush()) == {"\N{REPLACEMENT CHARACTER}"}


def test_names_of_special_tokens_are_text_unless_asked_for(folder: Path) -> None:
    tokenizer = load_tokenizer(folder)
    text = f"a{END}b"
    assert tokenizer.decode(tokenizer.encode(text)) == text
    special = tokenizer.encode(text, has_special=True)
    assert special[1] == tokenizer.eos_ids[0]
    assert tokenizer.decode(special) == "ab"
    assert tokenizer.decode(special, keep_special=True) == text
    assert tokenizer.token_name(special[1]) == END
    assert tokenizer.token_name(10**6) is None
    assert tokenizer.token_bytes(special[1]) is None


def test_sentence_pieces_keep_special_tokens_on_request(sentence_pieces: Path) -> None:
    tokenizer = load_tokenizer(sentence_pieces)
    tokens = tokenizer.encode("<s>fox</s>", has_special=True)
    assert (tokens[0], tokens[-1]) == (tokenizer.bos_id, tokenizer.eos_ids[0])
    assert tokenizer.decode(tokens) == "fox"
    assert tokenizer.decode(tokens, keep_special=True) == "<s>fox</s>"
    assert tokenizer.decode(tokenizer.encode("<s>fox")) == "<s>fox"


def test_files_beside_say_what_begins_and_what_a_conversation_is(folder: Path) -> None:
    tokenizer = load_tokenizer(folder / "tokenizer.json")
    assert tokenizer.token_name(tokenizer.bos_id or 0) == BOS
    assert tokenizer.adds_bos
    assert tokenizer.chat_template == "{{ 1 }}"
    template = folder / "chat_template.jinja"
    template.write_text("{{ 2 }}")
    assert load_tokenizer(folder).chat_template == "{{ 2 }}"
    template.unlink()


def test_tiktoken_files_are_read_as_the_official_package_does(ranks: Path) -> None:
    official = pytest.importorskip("pytorch_tokenizers.tiktoken").TiktokenTokenizer(str(ranks))
    tokenizer = load_tokenizer(ranks)
    for text in TEXTS:
        assert tokenizer.encode(text) == official.encode(text, bos=False, eos=False)
    header = "<|start_header_id|>user<|end_header_id|>\n\nHi<|eot_id|>"
    expected = official.encode(header, bos=False, eos=False, allowed_special="all")
    assert tokenizer.encode(header, has_special=True) == expected
    assert (tokenizer.bos_id, tokenizer.eos_ids[0]) == (official.bos_id, official.eos_id)
    assert tokenizer.vocabulary_size == official.n_words


def test_scored_vocabularies_of_gguf_are_read_as_sentencepiece_does(sentence_pieces: Path) -> None:
    theirs = load_tokenizer(sentence_pieces)
    ours = gguf.tokenizer_of(gguf_metadata(sentence_pieces))
    for text in [*TEXTS, *CORPUS]:
        assert ours.encode(text) == theirs.encode(text)
    assert (ours.bos_id, ours.eos_ids, ours.adds_bos) == (theirs.bos_id, theirs.eos_ids, True)


def test_byte_pairs_of_gguf_are_those_of_tokenizer_json(folder: Path) -> None:
    content = json.loads((folder / "tokenizer.json").read_text())
    vocabulary = content["model"]["vocab"]
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "gpt-2",
        "tokenizer.ggml.tokens": sorted(vocabulary, key=vocabulary.get),
        "tokenizer.ggml.merges": [" ".join(pair) for pair in content["model"]["merges"]],
        "tokenizer.ggml.token_type": [3, 3] + [1] * (len(vocabulary) - 2),
        "tokenizer.ggml.eos_token_id": 1,
    }
    ours, theirs = gguf.tokenizer_of(metadata), load_tokenizer(folder)
    for text in [*TEXTS, f"a{END}b"]:
        assert ours.encode(text, has_special=True) == theirs.encode(text, has_special=True)
    assert ours.eos_ids == (1,)
    assert gguf.tokenizer_of({**metadata, "tokenizer.ggml.pre": "smollm"}).encode("12") == [
        *theirs.encode("1"),
        *theirs.encode("2"),
    ]


def test_unknown_vocabularies_name_the_key() -> None:
    with pytest.raises(InvalidArgumentError, match=r"no tokenizer\.ggml\.model"):
        gguf.tokenizer_of({})
    with pytest.raises(NotSupportedError, match=r"tokenizer\.ggml\.model is 't5'"):
        gguf.tokenizer_of({"tokenizer.ggml.model": "t5"})
    metadata = {
        "tokenizer.ggml.model": "gpt2",
        "tokenizer.ggml.pre": "mine",
        "tokenizer.ggml.tokens": ["a"],
        "tokenizer.ggml.merges": [],
    }
    with pytest.raises(NotSupportedError, match=r"tokenizer\.ggml\.pre is 'mine'"):
        gguf.tokenizer_of(metadata)
    with pytest.raises(InvalidArgumentError, match="eos_token_id is 7"):
        gguf.tokenizer_of(
            {**metadata, "tokenizer.ggml.pre": "default", "tokenizer.ggml.eos_token_id": 7}
        )


def test_what_is_no_tokenizer_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(NotFoundError, match="no tokenizer"):
        load_tokenizer(tmp_path / "none.json")
    with pytest.raises(NotFoundError, match=r"has no tokenizer; expected tokenizer\.json"):
        load_tokenizer(tmp_path)
    for name, content, message in [
        ("tokenizer.json", b'{"a": 1}', "is no tokenizer.json"),
        ("tokenizer.model", b"nothing", "is no SentencePiece model"),
        ("ranks.model", b"IQ== 0\nIg== x\n", "line 2: expected a token in base64"),
        ("model.pte", b"\0\0\0\0ET12", "is a program, not a tokenizer"),
    ]:
        path = tmp_path / name
        path.write_bytes(content)
        with pytest.raises(InvalidArgumentError, match=message):
            load_tokenizer(path)
