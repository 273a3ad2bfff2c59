"""Programs of language models compute what the model does, call after call."""

from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import CACHED, Conversation, checkpoint, tokens

from etlab.errors import InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm import export_llm
from etlab.llm.export_llm.__main__ import main
from etlab.llm.export_llm.reading import read_config
from etlab.runtime import Runtime


def export(path: Path, **sections: dict[str, Any]) -> Any:
    config = {
        "base": {"model_class": "llama3_2", "checkpoint": str(path)},
        "export": {
            "output_dir": str(path.parent),
            "max_seq_length": 16,
            "max_context_length": 24,
        },
    }
    for name, keys in sections.items():
        config[name] = config.get(name, {}) | keys
    return export_llm(config)


@pytest.mark.parametrize("is_fused", [True, False])
def test_prefill_and_decode_give_what_the_whole_text_gives(tmp_path: Path, is_fused: bool) -> None:
    model, path = checkpoint(tmp_path)
    exported = export(path, model={"use_kv_cache": True, "use_sdpa_with_kv_cache": is_fused})
    text = tokens(20)
    expected = model(text)
    talk = Conversation(exported)
    given = [talk.say(part) for part in text.split([7, 1, 1, 5, 1, 1, 1, 1, 1, 1], dim=1)]
    places = [6, 7, 8, 13, 14, 15, 16, 17, 18, 19]
    torch.testing.assert_close(torch.cat(given), expected[0, places], rtol=1e-4, atol=1e-4)


def test_a_program_tells_how_it_is_to_be_run(tmp_path: Path) -> None:
    _, path = checkpoint(tmp_path, bos_idx=1, eos_idx=2)
    exported = export(path, model=CACHED, base={"metadata": '{"get_eos_ids": [2, 5]}'})
    program = Runtime.get().load_program(str(exported))
    told = {
        name: program.load_method(name).execute([])
        for name in program.method_names
        if name != "forward"
    }
    assert told == {
        "get_max_seq_len": [16],
        "get_max_context_len": [24],
        "get_n_layers": [2],
        "get_vocab_size": [96],
        "get_bos_id": [1],
        "get_eos_ids": [2, 5],
        "use_kv_cache": [True],
        "use_sdpa_with_kv_cache": [True],
        "enable_dynamic_shape": [True],
    }


def test_a_call_beyond_the_context_is_refused_and_says_so(tmp_path: Path) -> None:
    _, path = checkpoint(tmp_path)
    talk = Conversation(export(path, model=CACHED))
    talk.say(tokens(16))
    with pytest.raises(InvalidArgumentError, match="context of 24 tokens"):
        talk.say(tokens(9))
    with pytest.raises(InvalidArgumentError, match=r"expected 1\.\.16, got 17"):
        talk.say(tokens(17))
    assert talk.say(tokens(8)).isfinite().all()


def test_without_dynamic_shapes_a_call_is_one_token(tmp_path: Path) -> None:
    model, path = checkpoint(tmp_path)
    talk = Conversation(export(path, model={**CACHED, "enable_dynamic_shape": False}))
    text = tokens(4)
    given = torch.cat([talk.say(text[:, i : i + 1]) for i in range(4)])
    torch.testing.assert_close(given, model(text)[0], rtol=1e-4, atol=1e-4)
    with pytest.raises(InvalidArgumentError):
        talk.say(tokens(2))


@pytest.mark.parametrize("name", ["fp16", "bf16"])
def test_models_of_half_precision_compute_what_they_do_in_eager(tmp_path: Path, name: str) -> None:
    _, path = checkpoint(tmp_path)
    xnnpack = {"enabled": True, "extended_ops": True, "enable_bf16": True}
    exported = export(path, model=CACHED | {"dtype_override": name}, backend={"xnnpack": xnnpack})
    said = Conversation(exported).say(tokens(9))
    expected = exported.run.model(tokens(9), torch.tensor([0]))
    torch.testing.assert_close(said, expected, rtol=0.02, atol=0.02)


def test_the_command_says_where_the_program_is_or_what_is_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    _, path = checkpoint(tmp_path)
    (tmp_path / "config.yaml").write_text(f"base: {{checkpoint: {path}, model_class: llama3}}")
    words = ["--config", str(tmp_path / "config.yaml"), f"export.output_dir={tmp_path}"]
    assert main([*words, "+model.use_kv_cache=True"]) == 0
    assert capsys.readouterr().out.strip() == str(tmp_path / "llama3.pte")
    assert main([*words, "model.kv_cache=True"]) == 1
    assert "no key 'model.kv_cache'" in capsys.readouterr().err


def test_full_logits_are_those_of_every_token(tmp_path: Path) -> None:
    model, path = checkpoint(tmp_path)
    talk = Conversation(export(path, model=CACHED, debug={"generate_full_logits": True}))
    text = tokens(9)
    torch.testing.assert_close(talk.say(text), model(text), rtol=1e-4, atol=1e-4)


def test_rows_of_a_consolidated_checkpoint_are_put_in_our_order(tmp_path: Path) -> None:
    """Meta turns neighbouring columns: by complex numbers, as its own code does."""
    model, path = checkpoint(tmp_path, use_hf_rope=False)
    exported = export(path, model=CACHED, debug={"generate_full_logits": True})
    ours = exported.run.model.layers[0].attention
    x = torch.randn(1, 5, 64, generator=torch.Generator().manual_seed(2))
    theirs = model.layers[0].attention

    def scores(query: torch.Tensor, key: torch.Tensor) -> torch.Tensor:
        return torch.einsum("qhd,khd->hqk", query, key.repeat_interleave(2, dim=1))

    angles = torch.outer(torch.arange(5), 10000.0 ** (-torch.arange(0, 16, 2) / 16))
    turns = torch.polar(torch.ones_like(angles), angles)[:, None]

    def turned(layer: torch.nn.Linear) -> torch.Tensor:
        pairs = torch.view_as_complex(layer(x)[0].view(5, -1, 8, 2))
        return torch.view_as_real(pairs * turns).flatten(2)

    from etlab.llm.rotary import turn

    tables = exported.run.model.cosine[:5, None], exported.run.model.sine[:5, None]
    query, key = (turn(one(x).view(1, 5, -1, 16), *tables)[0] for one in (ours.query, ours.key))
    expected = scores(turned(theirs.query), turned(theirs.key))
    torch.testing.assert_close(scores(query, key), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize(
    ("words", "kind", "said"),
    [
        (["model.use_kv_cashe=True"], NotFoundError, "model.use_kv_cashe.*did you mean"),
        (["modle.use_kv_cache=True"], NotFoundError, "no key 'modle'"),
        (["base.use_lora=16"], NotSupportedError, "base.use_lora=16"),
        (["backend.coreml.enabled=True"], NotSupportedError, "backend.coreml.enabled"),
        (["quantization.qmode=8da4w-gptq"], NotSupportedError, "quantization.qmode"),
        (["multimethod.methods=[{method_name: a}]"], NotSupportedError, "multimethod.methods"),
        (["export.max_seq_length=256"], InvalidArgumentError, "export.max_context_length=128"),
        (["model.use_sdpa_with_kv_cache=True"], InvalidArgumentError, "needs a cache"),
        (["model.dtype_override=fp8"], InvalidArgumentError, "'fp32' or 'fp16' or 'bf16'"),
        (["base.model_class=lfm2_350m"], NotSupportedError, "not built here"),
        (["export.max_seq_length"], InvalidArgumentError, "section.key=value"),
        (["backend.xnnpack.extended_ops=True"], InvalidArgumentError, "xnnpack.enabled=True"),
        (
            ["backend.xnnpack.enabled=True", "backend.xnnpack.enable_bf16=True"],
            InvalidArgumentError,
            "needs backend.xnnpack.extended_ops",
        ),
        (["export.export_only=True"], NotSupportedError, "export.export_only"),
    ],
)
def test_a_key_that_does_not_fit_is_named(words: list[str], kind: type, said: str) -> None:
    with pytest.raises(kind, match=said):
        read_config(None, words)


def test_words_on_the_command_line_win_over_the_file(tmp_path: Path) -> None:
    (tmp_path / "a.yaml").write_text("export: {max_seq_length: 64}\nmodel: {use_kv_cache: true}\n")
    config = read_config(tmp_path / "a.yaml", ["+export.max_seq_length=32"])
    assert (config.export.max_seq_length, config.model.use_kv_cache) == (32, True)
