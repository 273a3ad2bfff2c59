"""Weights that lie somewhere, and what they are the weights of."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import torch
from torch import nn

from etlab.errors import InvalidArgumentError
from etlab.llm.architecture import Architecture
from etlab.llm.blocks import Blocks
from etlab.llm.checkpoints.names import Form, fused_rows, their_name


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A checkpoint, whose tensors are read when they are asked for.

    Attributes:
        path: where it lies.
        form: whose names its tensors have.
        blocks: from a name to the integers that a matrix is stored as; None for one in float.
        family: "llama", "qwen2", "qwen3" or "phi3", if it says so itself.
        architecture: of the model.
        names: of its tensors.
        read: from a name to the tensor.
        turns_neighbours: columns 2i and 2i + 1 of a head turn together, as Meta and llama.cpp have
            it, not i and i + width/2: rows of queries and keys are put in our order.
        ignored: names of tensors that say nothing the architecture does not.
        random: draws the tensors instead of reading them.
    """

    path: Path
    form: Form
    architecture: Architecture
    names: Collection[str]
    read: Callable[[str], torch.Tensor]
    turns_neighbours: bool = False
    ignored: Collection[str] = field(default_factory=tuple)
    random: torch.Generator | None = None
    blocks: Callable[[str], Blocks | None] | None = None
    family: str | None = None

    def fill(self, model: nn.Module, dtype: torch.dtype) -> None:
        """Give a model made on the "meta" device its weights, one tensor after the other.

        Raises:
            InvalidArgumentError: a tensor is missing, has another shape, or has no place.
        """
        used: set[str] = set()
        shared: dict[int, torch.Tensor] = {}
        state: dict[str, torch.Tensor] = {}
        for name, parameter in model.named_parameters(remove_duplicate=False):
            if id(parameter) not in shared:
                tensor = self._tensor(name, parameter.shape, used).to(dtype)
                shared[id(parameter)] = tensor.contiguous()
            state[name] = shared[id(parameter)]
        left = sorted(set(self.names) - used - set(self.ignored))
        if left:
            raise InvalidArgumentError(
                f"{self.path}: the model has no place for {len(left)} tensor(s): "
                f"{', '.join(left[:5])}{' …' if len(left) > 5 else ''}; is it of another family?"
            )
        model.load_state_dict(state, assign=True, strict=False)
        if self.architecture.is_tied:
            model.get_submodule("output").weight = model.get_submodule("embedding").weight

    def _tensor(self, ours: str, shape: torch.Size, used: set[str]) -> torch.Tensor:
        if self.random is not None:
            size = 0.02 if len(shape) > 1 else 0.0
            return torch.randn(shape, generator=self.random) * size + (len(shape) == 1)
        theirs = their_name(self.form, ours)
        if theirs in self.names:
            used.add(theirs)
            tensor = self.read(theirs)
        else:
            tensor = self._part(theirs, ours, used)
        if tensor.shape != shape:
            raise InvalidArgumentError(
                f"{self.path}: tensor '{theirs}' is {tuple(tensor.shape)}, expected"
                f" {tuple(shape)} for '{ours}'"
            )
        if self.turns_neighbours and (".query." in ours or ".key." in ours):
            tensor = tensor[head_order(len(tensor), self.architecture)]
        return tensor

    def _part(self, theirs: str, ours: str, used: set[str]) -> torch.Tensor:
        fused = fused_rows(self.form, ours)
        if fused is None or fused[0] not in self.names:
            instead = f" (nor '{fused[0]}')" if fused is not None else ""
            raise InvalidArgumentError(
                f"{self.path}: no tensor '{theirs}'{instead}, which is the model's '{ours}'"
            )
        name, parts = fused
        used.add(name)
        begin, rows = self.rows_within(parts, ours)
        return self.read(name)[begin : begin + rows].clone()

    def rows_within(self, parts: Sequence[str], ours: str) -> tuple[int, int]:
        """Where one of the parts of a fused tensor begins, and how many rows it has."""
        before = parts[: parts.index(ours)]
        return sum(self._rows(part) for part in before), self._rows(ours)

    def _rows(self, ours: str) -> int:
        one = self.architecture
        if ".feed_forward." in ours:
            return one.hidden
        return one.head_width * (one.heads if ".query." in ours else one.key_heads)


def head_order(rows: int, architecture: Architecture) -> torch.Tensor:
    """The order that brings rows of heads from pairs of neighbours to two halves, those that turn.

    Returns:
        (rows) int64: for each row of ours, the row of theirs.
    """
    width, turning = architecture.head_width, architecture.rotary.width
    heads = torch.arange(rows).view(-1, width)
    return torch.cat((heads[:, :turning:2], heads[:, 1:turning:2], heads[:, turning:]), 1).flatten()
