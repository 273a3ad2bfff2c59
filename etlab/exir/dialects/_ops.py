"""`ops.edge.aten.add.Tensor`: the operators of edge graphs by ExecuTorch's names.

Nodes of our edge graphs call torch's own operators, so these are the same objects as
`torch.ops.aten.add.Tensor`.
"""

from typing import Any

import torch

__all__ = ["ops"]


class _Dialects:
    """The dialects that a graph of ours can be in; all hold torch's operators."""

    @property
    def edge(self) -> Any:
        """Operators of edge graphs."""
        return torch.ops

    @property
    def backend(self) -> Any:
        """Operators that backends add."""
        return torch.ops

    def __getattr__(self, namespace: str) -> Any:
        """A namespace: `ops.aten`."""
        if namespace.startswith("__"):
            raise AttributeError(namespace)
        return getattr(torch.ops, namespace)


ops = _Dialects()
