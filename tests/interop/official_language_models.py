"""The official package and language models, in a process of its own.

python official_language_models.py run TASK.json RESULT.pt
python official_language_models.py export FOLDER
"""

import json
import sys
from pathlib import Path

import torch

PARAMS = {
    "dim": 64,
    "n_layers": 2,
    "n_heads": 4,
    "n_kv_heads": 2,
    "vocab_size": 96,
    "hidden_dim": 96,
    "norm_eps": 1e-5,
    "rope_theta": 10000.0,
}


def run(task: Path, result: Path) -> None:
    """Logits of every call of conversations with programs: {path: [[token, ...], ...]}."""
    import executorch.kernels.quantized  # noqa: F401  registers kernels
    from executorch.extension.llm.custom_ops import custom_ops  # noqa: F401  registers kernels
    from executorch.runtime import Runtime

    torch.set_num_threads(1)
    said = {}
    for path, calls in json.loads(task.read_text()).items():
        program = Runtime.get().load_program(path)
        method, position, said[path] = program.load_method("forward"), 0, []
        for words in calls:
            (logits,) = method.execute([torch.tensor([words]), torch.tensor([position])])
            said[path].append(logits.clone())
            position += len(words)
    torch.save(said, result)


def export(folder: Path) -> None:
    """A small Llama with random weights, by the official `export_llm`."""
    from executorch.examples.models.llama.export_llama_lib import export_llama
    from executorch.examples.models.llama.llama_transformer import construct_transformer
    from executorch.examples.models.llama.model_args import ModelArgs
    from executorch.extension.llm.export.config.llm_config import LlmConfig, ModelType

    torch.manual_seed(0)
    (folder / "params.json").write_text(json.dumps(PARAMS))
    model = construct_transformer(ModelArgs(**PARAMS))
    state = {name: torch.randn_like(one) * 0.2 for name, one in model.state_dict().items()}
    torch.save(state, folder / "consolidated.00.pth")
    config = LlmConfig()
    config.base.model_class = ModelType.llama3_2
    config.base.checkpoint = str(folder / "consolidated.00.pth")
    config.base.params = str(folder / "params.json")
    config.base.metadata = '{"get_bos_id": 1, "get_eos_ids": [2]}'
    config.model.use_kv_cache = config.model.use_sdpa_with_kv_cache = True
    config.export.max_seq_length = config.export.max_context_length = 32
    config.export.output_dir, config.export.output_name = str(folder), "official.pte"
    config.quantization.qmode, config.quantization.group_size = "8da4w", 32
    config.quantization.embedding_quantize = "4,32"
    config.backend.xnnpack.enabled = config.backend.xnnpack.extended_ops = True
    export_llama(config)


if __name__ == "__main__":
    if sys.argv[1] == "run":
        run(Path(sys.argv[2]), Path(sys.argv[3]))
    else:
        export(Path(sys.argv[2]))
