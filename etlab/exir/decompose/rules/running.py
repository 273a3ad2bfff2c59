"""Running products: a loop over the dimension."""

from typing import Any

import torch
from torch import fx

from etlab.exir.bodies import Call, body_graph
from etlab.exir.decompose.plan import rule
from etlab.exir.decompose.rules.casts import cast
from etlab.exir.decompose.rules.creation import full
from etlab.exir.decompose.walk import Walk

aten = torch.ops.aten


@rule("aten.cumprod.default")
def cumprod(
    walk: Walk, val: Any, tensor: fx.Node, dim: int, *, dtype: torch.dtype | None = None
) -> fx.Node:
    old = tensor.meta["val"]
    if dtype is None:
        dtype = old.dtype if old.dtype.is_floating_point else torch.int64
    tensor = cast(walk, tensor, dtype)
    shape = tuple(old.shape)
    if not shape or (isinstance(shape[dim], int) and shape[dim] <= 1):
        return walk.emit(aten.clone.default, tensor, val=tensor.meta["val"])
    rows = walk.lower(aten.movedim.int, (tensor, dim, 0), {})
    row = walk.fake(rows.meta["val"].shape[1:], dtype)
    ones = full(walk, walk.size_arguments(rows)[1:], 1, dtype, row.shape)

    def compute(call: Call, given: list[fx.Node]) -> list[fx.Node]:
        product = call(aten.mul.Tensor, *given, val=row)
        return [product, product]

    body = body_graph(
        f"cumprod_body_{walk.shared.body_count}",
        [("product", row), ("row", row)],
        walk.provenance,
        compute,
    )
    walk.shared.body_count += 1
    walk.submodules[body.name] = body
    attribute = walk.graph.get_attr(body.name)
    attribute.meta = dict(walk.provenance)
    operands = (attribute, [ones], [rows], ())
    scan = walk.raw(torch.ops.higher_order.scan, operands, {}, (row, rows.meta["val"]))
    stacked = walk.item(scan, 1)
    return walk.lower(aten.movedim.int, (stacked, 0, dim), {})  # type: ignore[no-any-return]
