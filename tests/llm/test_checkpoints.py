"""Checkpoints of every form become the same model; what does not fit is named."""

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import checkpoint, random_model, tokens, write_consolidated

from etlab.errors import AccessError, InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.llm.checkpoints.open import open_checkpoint
from etlab.llm.export_llm.config import BaseConfig
from etlab.llm.transformer import Options, Transformer

transformers = pytest.importorskip("transformers")
COMMON = {
    "hidden_size": 64,
    "intermediate_size": 96,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "vocab_size": 96,
    "max_position_embeddings": 64,
    "bos_token_id": 1,
    "eos_token_id": 2,
    "pad_token_id": 0,
}
LLAMA3 = {
    "rope_type": "llama3",
    "rope_theta": 500.0,
    "factor": 8.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 32,
}
LONG = {
    "rope_type": "longrope",
    "rope_theta": 10000.0,
    "partial_rotary_factor": 0.75,
    "short_factor": [1.0 + 0.1 * i for i in range(6)],
    "long_factor": [2.0 + 0.5 * i for i in range(6)],
}
FAMILIES: dict[str, tuple[str, str, dict[str, Any]]] = {
    "llama": ("llama3", "Llama", {"tie_word_embeddings": False}),
    "llama of 3.1's positions": (
        "llama3_1",
        "Llama",
        {"tie_word_embeddings": True, "rope_parameters": LLAMA3},
    ),
    "llama with biases": ("llama2", "Llama", {"attention_bias": True}),
    "qwen2": ("qwen2_5_0_5b", "Qwen2", {"tie_word_embeddings": True}),
    "qwen3": ("qwen3_0_6b", "Qwen3", {"head_dim": 32}),
    "phi3": (
        "phi_4_mini",
        "Phi3",
        {"rope_parameters": LONG, "original_max_position_embeddings": 32},
    ),
    "smollm2": ("smollm2", "Llama", {"tie_word_embeddings": True}),
}


def load(base: BaseConfig, **options: Any) -> Transformer:
    opened = open_checkpoint(base)
    chosen = Options(has_cache=False, has_full_logits=True, **options)
    with torch.device("meta"):
        model = Transformer(opened.architecture, chosen)
    opened.fill(model, torch.float32)
    model.make_state()
    return model.eval().requires_grad_(False)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_hugging_face_folder_computes_what_transformers_does(family: str, tmp_path: Path) -> None:
    model_class, name, changes = FAMILIES[family]
    torch.manual_seed(0)
    config = getattr(transformers, f"{name}Config")(**{**COMMON, **changes})
    reference = getattr(transformers, f"{name}ForCausalLM")(config).eval()
    for parameter in reference.parameters():
        torch.nn.init.normal_(parameter, std=0.2)
    reference.save_pretrained(tmp_path)
    # The long factors begin to count behind the original context.
    length, context = (20, 32) if name == "Phi3" else (40, 64)
    model = load(BaseConfig(model_class=model_class, checkpoint=str(tmp_path)), context=context)
    text = tokens(length)
    with torch.no_grad():
        expected = reference(text).logits
    torch.testing.assert_close(model(text), expected, rtol=1e-3, atol=1e-3)
    assert model.architecture.first_token == 1
    assert model.architecture.end_tokens == (2,)


def test_the_long_factors_count_where_the_context_is_longer(tmp_path: Path) -> None:
    config = transformers.Phi3Config(
        **COMMON, rope_parameters=LONG, original_max_position_embeddings=32
    )
    reference = transformers.Phi3ForCausalLM(config).eval()
    reference.save_pretrained(tmp_path)
    model = load(BaseConfig(model_class="phi_4_mini", checkpoint=str(tmp_path)), context=64)
    text = tokens(40)
    with torch.no_grad():
        expected = reference(text).logits
    torch.testing.assert_close(model(text), expected, rtol=1e-3, atol=1e-3)


def test_a_consolidated_file_computes_what_it_was_made_from(tmp_path: Path) -> None:
    model, path = checkpoint(tmp_path, is_tied=True, use_scaled_rope=True)
    again = load(BaseConfig(model_class="llama3_1", checkpoint=str(path)))
    torch.testing.assert_close(again(tokens(9)), model(tokens(9)))


def test_an_exported_model_class_must_be_that_of_the_checkpoint(tmp_path: Path) -> None:
    config = transformers.Qwen2Config(**COMMON)
    transformers.Qwen2ForCausalLM(config).save_pretrained(tmp_path)
    with pytest.raises(InvalidArgumentError, match=r"base\.model_class=llama3 .* says qwen2"):
        open_checkpoint(BaseConfig(model_class="llama3", checkpoint=str(tmp_path)))


def changed_state(path: Path, change: Any) -> BaseConfig:
    state = torch.load(path)
    change(state)
    torch.save(state, path)
    return BaseConfig(model_class="llama3", checkpoint=str(path))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda state: state.pop("layers.1.attention.wq.weight"), "no tensor .*1.attention.wq"),
        (lambda state: state.update({"extra": torch.ones(1)}), "no place for 1 tensor.*extra"),
        (
            lambda state: state.update({"norm.weight": torch.ones(7)}),
            r"'norm.weight' is \(7,\), expected \(64,\)",
        ),
    ],
)
def test_a_tensor_that_does_not_fit_is_named(tmp_path: Path, change: Any, said: str) -> None:
    _, path = checkpoint(tmp_path)
    with pytest.raises(InvalidArgumentError, match=said):
        load(changed_state(path, change))


def test_what_is_not_there_is_named(tmp_path: Path) -> None:
    model, path = checkpoint(tmp_path)
    (tmp_path / "params.json").unlink()
    with pytest.raises(NotFoundError, match=r"base\.params"):
        open_checkpoint(BaseConfig(model_class="llama3", checkpoint=str(path)))
    with pytest.raises(NotFoundError, match=r"base\.checkpoint"):
        open_checkpoint(BaseConfig(checkpoint=str(tmp_path / "a.pth")))
    with pytest.raises(NotFoundError, match=r"base\.tokenizer_path"):
        open_checkpoint(BaseConfig(checkpoint=str(path), tokenizer_path="none.model"))
    with pytest.raises(InvalidArgumentError, match=r"base\.checkpoint: expected"):
        open_checkpoint(BaseConfig(model_class="llama3"))
    write_consolidated(tmp_path, model, {"dim": 64})
    with pytest.raises(NotFoundError, match="no 'n_layers'"):
        open_checkpoint(BaseConfig(model_class="llama3", checkpoint=str(path)))
    write_consolidated(tmp_path, model, {"dim": 64, "n_layers": 2, "n_heads": 4, "moe": True})
    with pytest.raises(NotSupportedError, match="moe"):
        open_checkpoint(BaseConfig(model_class="llama3", checkpoint=str(path)))
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "mamba"}))
    with pytest.raises(NotFoundError, match="safetensors"):
        open_checkpoint(BaseConfig(model_class="llama3", checkpoint=str(tmp_path)))


def test_params_alone_give_random_weights_with_a_warning(tmp_path: Path) -> None:
    checkpoint(tmp_path)
    base = BaseConfig(model_class="llama3", params=str(tmp_path / "params.json"))
    with pytest.warns(UserWarning, match="random weights"):
        first = load(base)
    with pytest.warns(UserWarning, match="random weights"):
        second = load(base)
    torch.testing.assert_close(first(tokens(3)), second(tokens(3)), rtol=0, atol=0)


def test_offline_a_missing_checkpoint_is_an_error_with_a_way_out(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    import huggingface_hub

    def offline(*args: Any, **options: Any) -> str:
        raise ConnectionError("no network")

    monkeypatch.setattr(huggingface_hub, "snapshot_download", offline)
    with pytest.raises(AccessError, match=r"Qwen/Qwen3-0\.6B.*base\.checkpoint"):
        open_checkpoint(BaseConfig(model_class="qwen3_0_6b"))


def test_a_model_without_a_checkpoint_has_the_sizes_of_its_params() -> None:
    from etlab.llm.checkpoints.consolidated import architecture_of

    model = random_model(architecture_of({"dim": 64, "n_layers": 1, "n_heads": 4, "vocab_size": 5}))
    assert model.layers[0].feed_forward.up.out_features == 256  # 2/3 of 256, rounded up
