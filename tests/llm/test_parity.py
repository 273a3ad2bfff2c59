"""What paths of one language model say, token by token, and how surprised they are."""

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import CACHED, checkpoint, tokens

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm import export_llm, load_tokenizer, perplexity, token_parity
from etlab.llm.scoring import PATHS, Scorer, scorer

PROMPT = tokens(6)[0].tolist()
TEXT = tokens(50)[0].tolist()


def export(folder: Path, *, all_logits: bool = True, **sections: Any) -> Any:
    _, path = checkpoint(folder)
    config = {
        "base": {"model_class": "llama3_2", "checkpoint": str(path)},
        "model": CACHED,
        "export": {"output_dir": str(folder), "max_seq_length": 8, "max_context_length": 24},
        "debug": {"generate_full_logits": all_logits},
    }
    return export_llm(config | sections)


@pytest.mark.parametrize("all_logits", [True, False])
def test_paths_of_a_float_program_agree(tmp_path: Path, all_logits: bool) -> None:
    exported = export(tmp_path, all_logits=all_logits)
    found = token_parity(exported, PROMPT, max_new_tokens=9)
    assert [row.path for row in found.paths] == ["quantized", "exported", "native"]
    assert len(found.written) == 9
    assert len(found.positions) == 3 * (6 + 9 - 1)
    for row in found.paths:
        assert (row.same, row.top5, row.diverges_at, row.instead) == (1.0, 1.0, None, "")
        assert row.kl < 1e-6
        assert row.difference < 1e-3
    assert "native agrees" in repr(found)
    assert exported.run.program.buffer  # no path wrote into what the program was made of
    assert len(found.to_dataframe()) == len(found.positions)
    assert "quantized" in found._repr_html_()


def test_few_bits_diverge_from_the_float_model_and_paths_of_them_do_not(tmp_path: Path) -> None:
    exported = export(
        tmp_path, quantization={"qmode": "8da4w", "group_size": 32, "embedding_quantize": "2,32"}
    )
    found = {row.path: row for row in token_parity(exported, PROMPT, max_new_tokens=12).paths}
    assert found["native"].kl > 0.001
    diverged = found["native"].diverges_at
    assert diverged is not None
    beside = token_parity(exported, PROMPT, reference="quantized", max_new_tokens=12)
    assert all(row.kl < 1e-3 for row in beside.paths if row.path != "eager")
    # Where the float model's own greedy text first differs from the one of few bits.
    eager = scorer(exported, "eager")
    rows = token_parity(exported, PROMPT, paths=["native"], max_new_tokens=12)
    text = [*rows.prompt, *rows.written]
    native = scorer(exported, "native")(text[: 6 + diverged])
    assert int(native[-1].argmax()) != text[6 + diverged]
    assert int(eager(text[: 6 + diverged])[-1].argmax()) == text[6 + diverged]


def test_perplexity_is_that_of_the_losses_of_windows(tmp_path: Path) -> None:
    exported = export(tmp_path)
    seen: list[tuple[int, int, float]] = []
    found = perplexity(exported, TEXT, window=20, on_progress=lambda *told: seen.append(told))
    model = scorer(exported, "quantized")
    losses = [
        torch.nn.functional.cross_entropy(
            model(TEXT[start : start + 20][:-1]),
            torch.tensor(TEXT[start + 1 : start + 20]),
            reduction="sum",
        )
        for start in (0, 20, 40)
    ]
    assert found.value == pytest.approx(math.exp(float(sum(losses)) / 47), rel=1e-4)
    assert (found.tokens, found.windows) == (47, 3)
    assert [done for done, _, _ in seen] == [20, 40, 50]
    assert seen[-1][2] == found.value


def test_a_model_that_knows_nothing_is_as_surprised_as_it_has_words() -> None:
    def forward(words: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        return torch.zeros(1, words.shape[1], 7)

    found = perplexity(Scorer(forward, longest_call=4, context=16), [1, 2, 3, 4, 5, 6])
    assert float(found) == pytest.approx(7)


def test_texts_are_read_with_a_tokenizer_or_its_file(tmp_path: Path) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    words = tokenizers.Tokenizer(
        tokenizers.models.WordLevel({f"w{i}": i for i in range(96)}, unk_token="w0")
    )
    words.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    words.save(str(tmp_path / "tokenizer.json"))
    exported, text = export(tmp_path), " ".join(f"w{token}" for token in PROMPT)
    file = str(tmp_path / "tokenizer.json")
    found = token_parity(exported, text, tokenizer=file, paths=["native"], max_new_tokens=3)
    assert list(found.prompt) == PROMPT
    assert found.positions[0].token == f"w{PROMPT[0]}"
    assert found.text.startswith(text)
    beside = perplexity(exported, text, tokenizer=load_tokenizer(file))
    assert float(beside) == pytest.approx(float(perplexity(exported, PROMPT)))


def test_what_cannot_be_scored_is_said(tmp_path: Path) -> None:
    exported = export(tmp_path)
    with pytest.raises(NotFoundError, match="no path 'tpu'"):
        token_parity(exported, PROMPT, paths=["tpu"])
    with pytest.raises(InvalidArgumentError, match="a text needs tokenizer="):
        token_parity(exported, "some words")
    with pytest.raises(InvalidArgumentError, match="do not fit into the context of 24"):
        token_parity(exported, PROMPT, max_new_tokens=30)
    with pytest.raises(InvalidArgumentError, match="window: expected 2 to 24"):
        perplexity(exported, TEXT, window=25)
    with pytest.raises(InvalidArgumentError, match="two tokens"):
        perplexity(exported, [1])
    assert set(PATHS) == {"eager", "quantized", "exported", "native"}
