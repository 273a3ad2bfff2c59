"""Checkpoints: GGUF files, Hugging Face folders, consolidated .pth files."""
