"""Quantized programs of language models compute what the torchao model does in eager."""

from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import CACHED, Conversation, checkpoint, tokens

from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.llm import export_llm
from etlab.llm.export_llm.reading import read_config

# The configuration that ExecuTorch's documentation shows for Llama 3.2 1B, paths aside.
TUTORIAL = """
base:
  model_class: llama3_2
  checkpoint: {folder}/consolidated.00.pth
  params: {folder}/params.json
  metadata: '{{"get_bos_id": 0, "get_eos_ids": [1, 2]}}'
model:
  use_kv_cache: True
  use_sdpa_with_kv_cache: True
quantization:
  embedding_quantize: 4,32
  qmode: 8da4w
backend:
  xnnpack:
    enabled: True
    extended_ops: True
debug:
  verbose: True
  generate_etrecord: True
"""


def export(path: Path, quantization: dict[str, Any], *, is_delegated: bool = False) -> Any:
    return export_llm(
        {
            "base": {"model_class": "llama3_2", "checkpoint": str(path)},
            "model": CACHED,
            "export": {
                "output_dir": str(path.parent),
                "max_seq_length": 16,
                "max_context_length": 24,
            },
            "quantization": quantization,
            "backend": {"xnnpack": {"enabled": is_delegated, "extended_ops": is_delegated}},
        }
    )


def check_against_eager(exported: Any, atol: float) -> None:
    """Prefill and two tokens, against the quantized module with a cache of its own."""
    talk, text = Conversation(exported), tokens(9)
    for part, position in zip(text.split([7, 1, 1], dim=1), (0, 7, 8), strict=True):
        expected = exported.run.model(part, torch.tensor([position]))
        torch.testing.assert_close(talk.say(part), expected, rtol=0.01, atol=atol)


@pytest.mark.parametrize("is_tied", [False, True])
@pytest.mark.parametrize(
    "mode",
    [
        {"qmode": "8da4w", "group_size": 32, "embedding_quantize": "4,32"},
        {"qmode": "8da8w", "group_size": 0, "embedding_quantize": "2,32"},
    ],
)
def test_delegated_layers_of_few_bits_are_those_of_torchao(
    tmp_path: Path, mode: dict[str, Any], is_tied: bool
) -> None:
    _, path = checkpoint(tmp_path, is_tied=is_tied)
    check_against_eager(export(path, mode, is_delegated=True), atol=0.05)


@pytest.mark.parametrize(
    "mode",
    [
        {"qmode": "int8", "embedding_quantize": "8,0"},
        {"qmode": "4w", "group_size": 32},
        {"embedding_quantize": "4,32"},
    ],
)
def test_weights_of_few_bits_without_a_delegate_are_those_of_torchao(
    tmp_path: Path, mode: dict[str, Any]
) -> None:
    _, path = checkpoint(tmp_path)
    check_against_eager(export(path, mode), atol=1e-3)


def test_the_public_tutorial_s_configuration_works_unchanged(tmp_path: Path, capsys: Any) -> None:
    _, path = checkpoint(tmp_path, dim=128, head_dim=32, hidden_dim=256)
    (tmp_path / "config.yaml").write_text(TUTORIAL.format(folder=path.parent))
    exported = export_llm(
        tmp_path / "config.yaml", [f"export.output_dir={tmp_path}", "export.output_name=a.pte"]
    )
    assert Path(exported).exists()
    assert (tmp_path / "etrecord.bin").exists()
    assert "delegated" in capsys.readouterr().out
    delegation = exported.run.delegation()
    assert delegation.by_op
    check_against_eager(exported, atol=0.05)


def test_groups_that_do_not_divide_are_filled_up_with_a_warning(tmp_path: Path) -> None:
    _, path = checkpoint(tmp_path)
    with pytest.warns(UserWarning, match="group_size=32 divides them"):
        exported = export(path, {"qmode": "8da4w", "group_size": 128}, is_delegated=True)
    check_against_eager(exported, atol=0.05)


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (["quantization.qmode=9w"], InvalidArgumentError, "expected one of 8da4w"),
        (["quantization.qmode=torchao:8da4w"], NotSupportedError, "quantization.qmode"),
        (["quantization.embedding_quantize=3,32"], InvalidArgumentError, "2, 4 or 8 bits"),
        (["quantization.embedding_quantize=4,x"], InvalidArgumentError, "two numbers as in '4,32'"),
        (["quantization.group_size=-1"], InvalidArgumentError, "0 or more"),
    ],
)
def test_a_quantization_that_does_not_fit_is_named(words: list[str], kind: type, said: str) -> None:
    with pytest.raises(kind, match=said):
        read_config(None, words)
