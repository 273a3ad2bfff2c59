"""Write QR decompositions of narrow matrices as arithmetic, which every runtime has."""

from typing import Any

import torch
from torch import Tensor, fx

from etlab.exir.decompose.anew import write_anew
from etlab.exir.decompose.paste import paste
from etlab.exir.decompose.walk import Walk
from etlab.exir.edge import EdgeGraph
from etlab.exir.passes.base import Pass, PassResult

aten = torch.ops.aten

_MOST_COLUMNS = 32  # the program grows with them


class ExpandQr(Pass):
    """Replace `linalg_qr` of real matrices of up to 32 columns by a reflection a column.

    Before: `q, r = linalg_qr(x)`
    After: `v = ...; x = x - tau * v * sum(v * x); ...; q = ...; r = triu(x)`

    Signs are LAPACK's, as eager has them. Wider matrices stay, for which the program would be too
    large, and those in bodies of control flow.
    """

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        nodes = [node for node in graph.graph.nodes if _is_narrow(node)]
        return PassResult(graph, write_anew(graph, nodes, _expanded))


def _expanded(walk: Walk, node: fx.Node) -> Any:
    return paste(walk, _by_columns, node.args, node.kwargs, node.meta["val"])


def _is_narrow(node: fx.Node) -> bool:
    if node.target is not aten.linalg_qr.default:
        return False
    source = node.args[0]
    assert isinstance(source, fx.Node)
    val = source.meta["val"]
    steps = val.shape[-2:]
    is_static = all(isinstance(size, int) for size in steps)
    return not val.is_complex() and is_static and 0 < min(steps) <= _MOST_COLUMNS


def _by_columns(matrix: Tensor, mode: str = "reduced") -> tuple[Tensor, Tensor]:
    rows, columns = matrix.shape[-2:]
    steps = min(rows, columns)
    side = rows if mode == "complete" else steps
    numbers = torch.arange(rows).reshape(rows, 1)
    reflections = []
    rest = matrix
    for k in range(steps):
        column = rest[..., k : k + 1]
        reflection = _reflection(column, column[..., k : k + 1, :], numbers, k)
        reflections.append(reflection)
        rest = _reflected(rest, *reflection)
    upper = torch.triu(rest[..., :side, :])
    if mode == "r":
        return matrix.new_zeros((0,)), upper
    basis = torch.eye(rows, side, dtype=matrix.dtype).expand(*matrix.shape[:-2], rows, side)
    for reflection in reversed(reflections):
        basis = _reflected(basis, *reflection)
    return basis, upper


def _reflection(column: Tensor, first: Tensor, numbers: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """`v`, one at row k, and `tau` of I - tau v v^T, which takes a column below row k to zero."""
    below = torch.where(numbers > k, column, 0.0)
    squares = (below * below).sum(-2, keepdim=True)
    length = torch.sqrt(first * first + squares)
    left = torch.where(first < 0, length, -length)
    is_done = squares == 0
    direction = below / torch.where(is_done, 1.0, first - left)
    vector = torch.where(numbers == k, 1.0, direction)
    tau = torch.where(is_done, 0.0, (left - first) / torch.where(is_done, 1.0, left))
    return vector, tau


def _reflected(matrix: Tensor, vector: Tensor, tau: Tensor) -> Tensor:
    return matrix - tau * vector * (vector * matrix).sum(-2, keepdim=True)
