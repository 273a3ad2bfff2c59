"""GGUF files: every form of a tensor, and blocks that stay as they are."""

from pathlib import Path
from typing import Any

import pytest
import torch
from llm.gguf_writer import write_gguf
from llm.small import CACHED, PARAMS, Conversation, checkpoint, random_model, tokens

from etlab.errors import InvalidArgumentError
from etlab.llm import export_llm
from etlab.llm.architecture import Rotary
from etlab.llm.checkpoints.checkpoint import head_order
from etlab.llm.checkpoints.consolidated import architecture_of
from etlab.llm.checkpoints.gguf import open_gguf
from etlab.llm.checkpoints.names import their_name
from etlab.llm.transformer import Transformer
from etlab.models.gguf import GgufFile
from etlab.runtime import Runtime

METADATA: dict[str, Any] = {
    "general.architecture": "llama",
    "llama.embedding_length": 64,
    "llama.block_count": 2,
    "llama.attention.head_count": 4,
    "llama.attention.head_count_kv": 2,
    "llama.feed_forward_length": 96,
    "llama.context_length": 64,
    "llama.attention.layer_norm_rms_epsilon": 1e-5,
    "llama.rope.freq_base": 10000.0,
    "tokenizer.ggml.bos_token_id": 1,
    "tokenizer.ggml.eos_token_id": 2,
}


def write(folder: Path, form: str, *, is_tied: bool = True, **changes: Any) -> Path:
    """A small Llama, whose matrices have a form; its embedding 8 bits."""
    model = random_model(architecture_of(PARAMS, is_tied=is_tied))
    tensors = {}
    for name, tensor in model.state_dict().items():
        if is_tied and name == "output.weight":
            continue
        own = tensor
        if ".query." in name or ".key." in name:
            order = head_order(len(tensor), model.architecture)
            own = torch.empty_like(tensor)
            own[order] = tensor  # neighbours turn together
        kind = "F32" if tensor.dim() == 1 else "Q8_0" if name == "embedding.weight" else form
        tensors[their_name("gguf", name)] = (own, kind)
    return write_gguf(folder / "model.gguf", METADATA | changes, tensors)


def export(path: Path, **sections: Any) -> Any:
    return export_llm(
        {
            "base": {"model_class": "llama3", "checkpoint": str(path)},
            "model": CACHED,
            "export": {
                "output_dir": str(path.parent),
                "max_seq_length": 16,
                "max_context_length": 24,
            },
            "debug": {"generate_full_logits": True},
        }
        | sections
    )


@pytest.mark.parametrize("form", ["F32", "F16", "Q8_0", "Q4_0", "Q4_1"])
def test_every_form_of_a_tensor_becomes_a_float_program(tmp_path: Path, form: str) -> None:
    exported = export(write(tmp_path, form))
    model: Transformer = exported.run.model
    near = {"F32": 0.0, "F16": 1e-3, "Q8_0": 5e-3}.get(form, 0.15)
    exact = random_model(architecture_of(PARAMS, is_tied=True)).state_dict()
    for name, tensor in model.state_dict().items():
        bound = 5e-3 if name in ("embedding.weight", "output.weight") else near
        assert (tensor - exact[name]).abs().max() <= bound, name
    said = Conversation(exported).say(tokens(9))
    torch.testing.assert_close(said, model(tokens(9), torch.tensor([0])), rtol=1e-4, atol=1e-4)
    assert model.architecture.end_tokens == (2,)
    assert model.architecture.rotary == Rotary(10000.0, 16)


@pytest.mark.parametrize("is_tied", [True, False])
@pytest.mark.parametrize("form", ["Q8_0", "Q4_0", "Q4_1"])
def test_blocks_that_are_kept_say_what_the_dequantized_model_says(
    tmp_path: Path, form: str, is_tied: bool
) -> None:
    path = write(tmp_path, form, is_tied=is_tied)
    floats = export(path)
    expected = Conversation(floats).say(tokens(9))
    if form != "Q8_0":
        with pytest.warns(UserWarning, match="runs in etlab's runtime alone"):
            kept = export(path, quantization={"qmode": "gguf"})
    else:
        kept = export(path, quantization={"qmode": "gguf"})
    torch.testing.assert_close(Conversation(kept).say(tokens(9)), expected, rtol=1e-4, atol=1e-4)
    names = {
        f"{one.name}.{one.overload}"
        for one in kept.run.program.executorch_program.execution_plan[0].operators
    }
    operator = "etlab::linear_blocks" if form != "Q8_0" else "quantized_decomposed::mixed_linear"
    assert f"{operator}.out" in names
    assert "aten::linear.out" not in names
    assert kept.path.stat().st_size < 0.6 * floats.run.program.nbytes


def test_blocks_can_be_kept_of_gguf_files_only(tmp_path: Path) -> None:
    _, path = checkpoint(tmp_path)
    with pytest.raises(InvalidArgumentError, match="keeps the blocks of a GGUF file"):
        export(path, quantization={"qmode": "gguf"})
    model = random_model(architecture_of(PARAMS))
    tensors = {
        their_name("gguf", name): (tensor, "F32") for name, tensor in model.state_dict().items()
    }
    path = write_gguf(tmp_path / "float.gguf", METADATA, tensors)
    with pytest.raises(InvalidArgumentError, match="has no weights in blocks"):
        export(path, quantization={"qmode": "gguf"})


def read_whole(path: Path) -> None:
    file = GgufFile(path)
    for name in file.names:
        file.tensor(name)


def test_a_damaged_file_is_an_error_wherever_it_ends(tmp_path: Path) -> None:
    whole = write(tmp_path, "Q4_1").read_bytes()
    path = tmp_path / "cut.gguf"
    for end in [5, 20, 40, 100, 300, 700, 1500, len(whole) // 2, len(whole) - 64]:
        path.write_bytes(whole[:end])
        with pytest.raises(InvalidArgumentError, match=r"damaged|cut off"):
            read_whole(path)


def test_metadata_that_is_not_built_here_is_named(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"general\.architecture is 'mamba'"):
        open_gguf(write(tmp_path, "F32", **{"general.architecture": "mamba"}))
    with pytest.raises(InvalidArgumentError, match=r"rope\.scaling\.type is 'yarn'"):
        open_gguf(write(tmp_path, "F32", **{"llama.rope.scaling.type": "yarn"}))


def test_a_file_s_program_runs_where_it_is_loaded_again(tmp_path: Path) -> None:
    with pytest.warns(UserWarning, match="alone"):
        kept = export(write(tmp_path, "Q4_1"), quantization={"qmode": "gguf"})
    method = Runtime.get().load_program(str(kept)).load_method("forward")
    (logits,) = method.execute([tokens(5), torch.tensor([0])])
    assert logits.shape == (1, 5, 96)
