"""What XNNPACK asks of the tensors of every operator."""

from typing import Any

import torch
from torch import fx
from torch.fx.experimental.symbolic_shapes import free_unbacked_symbols

from etlab.backends.xnnpack.operators.registry import Context
from etlab.backends.xnnpack.payload.schema import MAXIMUM_RANK

_FLOATS = (torch.float32, torch.float16)


def tensors_of(val: Any) -> list[Any]:
    """A meta value as a list."""
    return list(val) if isinstance(val, tuple | list) else [val]


def why_not_tensors(node: fx.Node, context: Context) -> str | None:
    """The reason why the tensors of a call do not suit XNNPACK; None when they do."""
    dtypes: set[torch.dtype] = set()
    for source in node.all_input_nodes:
        for val in tensors_of(source.meta.get("val")):
            if not isinstance(val, torch.Tensor):
                continue  # a size; whether it can be inferred is the operator's own question
            reason = _why_not_tensor(val, context, f"its input '{source.name}'")
            if reason is not None:
                return reason
            dtypes.add(val.dtype)
    for val in results_in_use(node):
        if not isinstance(val, torch.Tensor):
            return "its result is a number, not a tensor: compute it outside of the model"
        reason = _why_not_tensor(val, context, "its result")
        if reason is not None:
            return reason
    if len(dtypes) > 1:
        names = " and ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
        return f"it mixes {names}, XNNPACK wants one dtype: convert one of the inputs before"
    return None


def results_in_use(node: fx.Node) -> list[Any]:
    """The results of a call that somebody picks."""
    val = node.meta.get("val")
    if not isinstance(val, tuple | list):
        return [val]
    return [val[index] for index in sorted({int(user.args[1]) for user in node.users})]  # type: ignore[arg-type]


def _why_not_tensor(tensor: torch.Tensor, context: Context, what: str) -> str | None:
    allowed = (*_FLOATS, torch.bfloat16) if context.bf16 else _FLOATS
    if tensor.dtype not in allowed:
        name = str(tensor.dtype).removeprefix("torch.")
        names = ", ".join(str(dtype).removeprefix("torch.") for dtype in allowed)
        hint = ": XnnpackPartitioner(enable_bf16=True) takes linear layers in bfloat16"
        return f"{what} is {name}, XNNPACK computes in {names}" + (
            hint if tensor.dtype is torch.bfloat16 else ": give it as float32"
        )
    if tensor.dim() > MAXIMUM_RANK:
        return (
            f"{what} has {tensor.dim()} dimensions, XNNPACK has at most {MAXIMUM_RANK}: merge some"
            " with reshape"
        )
    if any(free_unbacked_symbols(size) for size in tensor.shape if not isinstance(size, int)):
        return f"{what} has a size that depends on data, which XNNPACK cannot infer"
    if any(isinstance(size, int) and size == 0 for size in tensor.shape):
        return f"{what} has no elements"
    return None
