"""The models of packages compute what their makers' code computes."""

import pytest
import torch

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.models import silero_vad, smollm2
from etlab.models.gguf import GgufFile


def _or_skip(load):  # type: ignore[no-untyped-def]
    try:
        return load()
    except NotFoundError as error:
        pytest.skip(str(error))


def test_silero_hears_what_the_package_s_own_model_hears() -> None:
    model, original = _or_skip(silero_vad.load), silero_vad.original()
    original.reset_states()
    generator = torch.Generator().manual_seed(0)
    for _ in range(3):  # it remembers
        chunk = torch.randn(1, silero_vad.CHUNK, generator=generator) * 0.1
        expected = original(chunk, silero_vad.SAMPLE_RATE)
        torch.testing.assert_close(model(chunk), expected, rtol=0, atol=1e-6)


def test_smollm2_cut_to_some_layers_computes_as_transformers_does() -> None:
    transformers = pytest.importorskip("transformers")
    model = _or_skip(lambda: smollm2.load(layers=2, longest=16))
    config = transformers.LlamaConfig(
        vocab_size=smollm2.VOCABULARY,
        hidden_size=smollm2.WIDTH,
        intermediate_size=smollm2.HIDDEN,
        num_hidden_layers=2,
        num_attention_heads=smollm2.HEADS,
        num_key_value_heads=smollm2.KEY_HEADS,
        rms_norm_eps=1e-5,
        rope_parameters={"rope_type": "default", "rope_theta": 100000.0},
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        reference = transformers.LlamaForCausalLM(config)
    names = {
        "attention_norm": "input_layernorm",
        "query": "self_attn.q_proj",
        "key": "self_attn.k_proj",
        "value": "self_attn.v_proj",
        "output": "self_attn.o_proj",
        "feed_forward_norm": "post_attention_layernorm",
        "gate": "mlp.gate_proj",
        "up": "mlp.up_proj",
        "down": "mlp.down_proj",
    }
    ours = model.state_dict()
    state = {
        f"model.layers.{layer}.{theirs}.weight": ours[f"layers.{layer}.{name}.weight"]
        for layer in range(2)
        for name, theirs in names.items()
    }
    state |= {
        "model.embed_tokens.weight": ours["word.weight"],
        "lm_head.weight": ours["word.weight"],
        "model.norm.weight": ours["norm.weight"],
    }
    reference.load_state_dict(state, assign=True)
    rotary = type(reference.model.rotary_emb)(config)  # its buffers were made without memory
    reference.model.rotary_emb = rotary
    tokens = torch.randint(0, smollm2.VOCABULARY, (1, 11), generator=torch.manual_seed(0))
    with torch.no_grad():
        expected = reference.eval()(tokens).logits
    torch.testing.assert_close(model(tokens), expected, rtol=1e-4, atol=1e-3)


def test_what_is_no_gguf_file_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    path = tmp_path / "weights.gguf"
    path.write_bytes(b"nothing of the kind")
    with pytest.raises(InvalidArgumentError, match="not a GGUF file"):
        GgufFile(path)
