"""Checkpoints from Hugging Face, for the model classes that name one."""

from pathlib import Path

from etlab.errors import AccessError, NotFoundError

REPOSITORIES = {
    "qwen2_5_0_5b": "Qwen/Qwen2.5-0.5B",
    "qwen2_5_1_5b": "Qwen/Qwen2.5-1.5B",
    "qwen2_5_coder_32b": "Qwen/Qwen2.5-Coder-32B-Instruct",
    "qwen3_0_6b": "Qwen/Qwen3-0.6B",
    "qwen3_1_7b": "Qwen/Qwen3-1.7B",
    "qwen3_4b": "Qwen/Qwen3-4B",
    "phi_3_5_mini": "microsoft/Phi-3.5-mini-instruct",
    "phi_4_mini": "microsoft/Phi-4-mini-instruct",
    "smollm2": "HuggingFaceTB/SmolLM2-135M",
}


def download(model_class: str) -> Path:
    """The folder of a model class's checkpoint, fetched if it is not there yet.

    Raises:
        NotFoundError: the package huggingface-hub is not installed.
        AccessError: Hugging Face cannot be reached, or refuses.
    """
    repository = REPOSITORIES[model_class]
    way_out = "give base.checkpoint the path of a checkpoint"
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise NotFoundError(
            f"base.checkpoint is not given, and fetching '{repository}' needs the package"
            f" huggingface-hub: pip install 'etlab[llm]', or {way_out}"
        ) from None
    try:
        found = snapshot_download(
            repository, allow_patterns=["*.safetensors", "*.json", "tokenizer*", "*.txt"]
        )
    except Exception as error:  # requests, httpx, its own: all mean that it is not there
        raise AccessError(
            f"base.checkpoint is not given, and '{repository}' cannot be fetched from Hugging Face"
            f" ({type(error).__name__}): {way_out}"
        ) from error
    return Path(found)
