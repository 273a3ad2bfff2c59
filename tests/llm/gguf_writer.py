"""Writes small GGUF files."""

import struct
from pathlib import Path
from typing import Any

import torch

_KINDS = {"F32": 0, "F16": 1, "Q4_0": 2, "Q4_1": 3, "Q8_0": 8}


def _text(text: str) -> bytes:
    return struct.pack("<Q", len(text)) + text.encode()


def _entry(key: str, value: Any) -> bytes:
    if isinstance(value, str):
        return _text(key) + struct.pack("<I", 8) + _text(value)
    if isinstance(value, float):
        return _text(key) + struct.pack("<If", 6, value)
    return _text(key) + struct.pack("<II", 4, value)


def encode(tensor: torch.Tensor, form: str) -> bytes:
    """The tensor in blocks of 32, quantized as plainly as can be."""
    if form in ("F32", "F16"):
        return tensor.to(torch.float32 if form == "F32" else torch.float16).numpy().tobytes()
    blocks = tensor.reshape(-1, 32)
    least, most = blocks.amin(1, keepdim=True), blocks.amax(1, keepdim=True)
    if form == "Q4_1":
        scale, low = ((most - least) / 15).half(), least.half()
        steps = ((blocks - low) / scale).round().clamp(0, 15).to(torch.uint8)
        head = torch.cat((scale, low), 1)
    else:
        bound = 8 if form == "Q4_0" else 127
        scale = (blocks.abs().amax(1, keepdim=True) / bound).half()
        steps = (blocks / scale).round().clamp(-bound, bound - (form == "Q4_0"))
        head = scale
        if form == "Q8_0":
            body = steps.to(torch.int8).view(torch.uint8)
            return torch.cat((head.view(torch.uint8), body), 1).numpy().tobytes()
        steps = (steps + 8).to(torch.uint8)
    body = steps[:, :16] | steps[:, 16:] << 4
    return torch.cat((head.view(torch.uint8), body), 1).numpy().tobytes()


def write_gguf(
    path: Path, metadata: dict[str, Any], tensors: dict[str, tuple[torch.Tensor, str]]
) -> Path:
    """A file of version 3.

    Args:
        path: where.
        metadata: entries.
        tensors: by name, each with the form it is stored in.
    """
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(metadata))
    head += b"".join(_entry(key, value) for key, value in metadata.items())
    data = b""
    for name, (tensor, form) in tensors.items():
        sizes = tuple(reversed(tensor.shape))
        head += _text(name) + struct.pack(f"<I{len(sizes)}Q", len(sizes), *sizes)
        head += struct.pack("<IQ", _KINDS[form], len(data))
        encoded = encode(tensor, form)
        data += encoded + bytes(-len(encoded) % 32)
    path.write_bytes(head + bytes(-len(head) % 32) + data)
    return path
