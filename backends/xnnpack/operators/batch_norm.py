"""Batch norms that no layer could take over: a product and a sum per channel."""

from typing import Any

import torch
from torch import fx

from etlab.backends.xnnpack.operators.registry import Context, rule
from etlab.backends.xnnpack.steps import Tensor
from etlab.backends.xnnpack.translate import Translation

aten = torch.ops.aten


def _why_not(node: fx.Node, context: Context) -> str | None:
    if not all(context.is_constant(argument) for argument in node.args[1:5]):
        return "its statistics or parameters are no constants: call model.eval() before the export"
    if any(user.args[1] != 0 for user in node.users):
        return "its saved statistics are used"
    return None


@rule(aten._native_batch_norm_legit_no_training.default, why_not=_why_not)
def _batch_norm(translation: Translation, node: fx.Node) -> tuple[Tensor, None, None]:
    source = translation.tensor(node.args[0])
    gamma, beta, mean, variance = (_value(translation, argument) for argument in node.args[1:5])
    eps: Any = node.args[6]
    scale = torch.rsqrt(variance + eps)
    scale = scale if gamma is None else scale * gamma
    shift = -mean * scale + (0 if beta is None else beta)
    dtype = node.meta["val"][0].dtype
    shape = (-1, *(1 for _ in range(source.rank - 2)))
    factor, term = (translation.constant(c.to(dtype).reshape(shape)) for c in (scale, shift))
    scaled = translation.binary("Multiply", source, factor, translation.like(source, source.sizes))
    result = translation.binary("Add", scaled, term, translation.like(source, source.sizes))
    return result, None, None


def _value(translation: Translation, argument: Any) -> Any:
    return None if argument is None else translation.constants[argument].double()
