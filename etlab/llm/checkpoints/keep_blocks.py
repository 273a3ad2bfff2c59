"""Layers that keep the blocks of a GGUF file instead of their dequantized weights."""

import warnings
from collections import Counter

import torch
from torch import nn

from etlab.errors import InvalidArgumentError
from etlab.llm.blocks import BlockLinear, Blocks, block_embedding
from etlab.llm.checkpoints.checkpoint import Checkpoint, head_order
from etlab.llm.checkpoints.names import fused_rows, their_name


def keep_blocks(model: nn.Module, checkpoint: Checkpoint) -> None:
    """Put the file's own integers in the place of weights that were made from them.

    What the model computes stays the same but for rounding. Float tensors of the file stay float,
    and so do embeddings of 4 bits, which no official operator reads.

    Raises:
        InvalidArgumentError: the checkpoint holds no blocks.

    Warns:
        UserWarning: the program needs an operator that only etlab's runtime has.
    """
    if checkpoint.blocks is None:
        raise InvalidArgumentError(
            f"quantization.qmode=gguf keeps the blocks of a GGUF file; '{checkpoint.path}' is none"
        )
    kept: Counter[str] = Counter()
    for name, module in list(model.named_modules()):
        if not isinstance(module, nn.Linear | nn.Embedding):
            continue
        is_tied = name == "output" and checkpoint.architecture.is_tied
        blocks = _blocks(checkpoint, f"{'embedding' if is_tied else name}.weight")
        if blocks is None or (isinstance(module, nn.Embedding) and blocks.least is not None):
            continue
        parent, _, own = name.rpartition(".")
        kept["4 bits" if blocks.least is not None else "8 bits"] += 1
        new = (
            block_embedding(blocks)
            if isinstance(module, nn.Embedding)
            else BlockLinear(blocks, None if module.bias is None else module.bias.detach())
        )
        model.get_submodule(parent).register_module(own, new)
    if not kept:
        raise InvalidArgumentError(
            f"quantization.qmode=gguf: '{checkpoint.path}' has no weights in blocks"
        )
    if kept["4 bits"]:
        warnings.warn(
            f"{kept['4 bits']} layers keep the file's 4-bit blocks with least values, which no"
            " official operator computes: the program runs in etlab's runtime alone",
            stacklevel=3,
        )


def _blocks(checkpoint: Checkpoint, ours: str) -> Blocks | None:
    """The blocks of one of our weights; None where the file has it in float."""
    assert checkpoint.blocks is not None
    theirs = their_name(checkpoint.form, ours)
    if theirs not in checkpoint.names:
        fused = fused_rows(checkpoint.form, ours)
        assert fused is not None
        begin, rows = checkpoint.rows_within(fused[1], ours)
        found = checkpoint.blocks(fused[0])
        return None if found is None else found.with_rows(torch.arange(begin, begin + rows))
    found = checkpoint.blocks(theirs)
    if found is not None and checkpoint.turns_neighbours and _is_turned(ours):
        return found.with_rows(head_order(len(found.values), checkpoint.architecture))
    return found


def _is_turned(ours: str) -> bool:
    return ".query." in ours or ".key." in ours
