"""How each form of checkpoint calls the tensors of a decoder."""

from typing import Literal, NamedTuple

Form = Literal["meta", "hugging_face", "gguf"]


class _Names(NamedTuple):
    ours: str
    meta: str
    hugging_face: str
    gguf: str


_WHOLE = (
    _Names("embedding", "tok_embeddings", "model.embed_tokens", "token_embd"),
    _Names("norm", "norm", "model.norm", "output_norm"),
    _Names("output", "output", "lm_head", "output"),
)
_OF_LAYER = (
    _Names("attention_norm", "attention_norm", "input_layernorm", "attn_norm"),
    _Names("attention.query", "attention.wq", "self_attn.q_proj", "attn_q"),
    _Names("attention.key", "attention.wk", "self_attn.k_proj", "attn_k"),
    _Names("attention.value", "attention.wv", "self_attn.v_proj", "attn_v"),
    _Names("attention.output", "attention.wo", "self_attn.o_proj", "attn_output"),
    _Names("attention.query_norm", "attention.q_norm_fn", "self_attn.q_norm", "attn_q_norm"),
    _Names("attention.key_norm", "attention.k_norm_fn", "self_attn.k_norm", "attn_k_norm"),
    _Names("feed_forward_norm", "ffn_norm", "post_attention_layernorm", "ffn_norm"),
    _Names("feed_forward.gate", "feed_forward.w1", "mlp.gate_proj", "ffn_gate"),
    _Names("feed_forward.up", "feed_forward.w3", "mlp.up_proj", "ffn_up"),
    _Names("feed_forward.down", "feed_forward.w2", "mlp.down_proj", "ffn_down"),
)
_LAYER = {"meta": "layers.{}", "hugging_face": "model.layers.{}", "gguf": "blk.{}"}

# Tensors that hold several of ours, one above the other (Phi).
FUSED: dict[Form, dict[str, tuple[str, ...]]] = {
    "meta": {},
    "hugging_face": {
        "self_attn.qkv_proj": ("attention.query", "attention.key", "attention.value"),
        "mlp.gate_up_proj": ("feed_forward.gate", "feed_forward.up"),
    },
    "gguf": {"attn_qkv": ("attention.query", "attention.key", "attention.value")},
}


def layer_prefix(form: Form, layer: int) -> str:
    """What stands before the names of a layer.

    >>> layer_prefix("gguf", 3)
    'blk.3'
    """
    return _LAYER[form].format(layer)


def their_name(form: Form, ours: str) -> str:
    """The name that a form has for one of our tensors.

    >>> their_name("hugging_face", "layers.3.attention.query.bias")
    'model.layers.3.self_attn.q_proj.bias'
    """
    module, _, kind = ours.rpartition(".")
    prefix = ""
    table: tuple[_Names, ...] = _WHOLE
    if module.startswith("layers."):
        _, layer, module = module.split(".", 2)
        prefix, table = layer_prefix(form, int(layer)) + ".", _OF_LAYER
    found = next(names for names in table if names.ours == module)
    return f"{prefix}{getattr(found, form)}.{kind}"


def fused_rows(form: Form, ours: str) -> tuple[str, tuple[str, ...]] | None:
    """The tensor that one of ours may be a part of, and all parts; None when there is none."""
    if not ours.startswith("layers."):
        return None
    _, layer, module = ours.rpartition(".")[0].split(".", 2)
    kind = ours.rpartition(".")[2]
    for theirs, parts in FUSED[form].items():
        if module in parts:
            own = tuple(f"layers.{layer}.{part}.{kind}" for part in parts)
            return f"{layer_prefix(form, int(layer))}.{theirs}.{kind}", own
    return None
