"""Scaled dot-product attention: two batched products around a softmax."""

import math
from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack.operators.matmul import batch_matrix_multiply
from etlab.backends.xnnpack.operators.registry import Context, argument, rule
from etlab.backends.xnnpack.payload.nodes import TRANSPOSE_B
from etlab.backends.xnnpack.steps import Layout, Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten


def _why_not(node: fx.Node, context: Context) -> str | None:
    query, key, value = (source.meta["val"] for source in node.args[:3])  # type: ignore[union-attr]
    if argument(node, 4, "dropout_p", 0.0):
        return "it drops out: call model.eval() before the export"
    if not query.shape[:-2] == key.shape[:-2] == value.shape[:-2]:
        return "its queries share keys (or batches differ): repeat keys and values in the model"
    mask = argument(node, 3, "attn_mask")
    if mask is not None and mask not in context.constants and not _is_finite(mask, context):
        return (
            "its mask is known only at run time, and a row that it hides entirely gives zeros,"
            " where XNNPACK's softmax gives NaN: make the mask constant, or use is_causal"
        )
    if argument(node, 5, "is_causal", False) and not all(
        isinstance(size, int) for size in (query.shape[-2], key.shape[-2])
    ):
        return "it is causal over a length that varies: fix the length"
    bias = _constant_bias(node, context.constants)
    if bias is not None and bool((bias == float("-inf")).all(-1).any()):
        return "its mask hides entire rows, which gives zeros, where XNNPACK's softmax gives NaN"
    return None


@rule(aten.scaled_dot_product_attention.default, why_not=_why_not, is_kept=True)
def _attention(translation: Translation, node: fx.Node) -> Tensor:
    query, key, value = (translation.tensor(source) for source in node.args[:3])
    scale = argument(node, 6, "scale")
    factor = 1 / math.sqrt(query.sizes[-1]) if scale is None else float(scale)
    scaled = translation.binary(
        "Multiply", query, translation.tensor(factor), translation.like(query, query.sizes)
    )
    scores = translation.like(query, (*query.sizes[:-1], key.sizes[-2]))
    scores = batch_matrix_multiply(translation, scaled, key, scores, TRANSPOSE_B)
    mask = argument(node, 3, "attn_mask")
    bias = _constant_bias(node, translation.constants)
    term = None if mask is None or mask in translation.constants else translation.tensor(mask)
    if bias is not None:
        term = translation.constant(bias.to(node.meta["val"].dtype))
    if term is not None:
        scores = translation.binary("Add", scores, term, translation.like(scores, scores.sizes))
    weights = translation.like(scores, scores.sizes)
    weights = translation.unary("Softmax", scores, weights, layout=Layout.PLAIN)
    return batch_matrix_multiply(translation, weights, value, translation.result(node))


def _is_finite(mask: fx.Node, context: Context) -> bool:
    """Whether a mask is one of `PrepareAttentionMasks`, which never holds minus infinity."""
    if mask.target is aten.clamp.default:
        return float(mask.args[1]) > float("-inf")  # type: ignore[arg-type]
    if mask.target is not aten.where.self:
        return False
    terms = [context.constants.get(term) for term in mask.args[1:]]  # type: ignore[arg-type]
    return all(term is not None and bool(torch.isfinite(term).all()) for term in terms)


def _constant_bias(node: fx.Node, constants: Any) -> torch.Tensor | None:
    """A constant mask as a term: what is hidden is minus infinity."""
    mask = argument(node, 3, "attn_mask")
    if mask is not None:
        if mask not in constants:
            return None
        bias: torch.Tensor = constants[mask]
    elif argument(node, 5, "is_causal", False):
        query, key = (source.meta["val"] for source in node.args[:2])  # type: ignore[union-attr]
        bias = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    else:
        return None
    if bias.dtype is torch.bool:
        return torch.zeros(bias.shape).masked_fill(~bias, float("-inf"))
    return bias
