"""The delegates of a method compute in one workspace, each with the others' memory."""

import pytest
import torch
from torch import nn

import etlab
from etlab.runtime import Runtime


class Block(nn.Module):
    """Some layers that a delegate takes, with intermediate values."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Linear(16, hidden), nn.Sigmoid(), nn.Linear(hidden, hidden), nn.Linear(hidden, 16)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.layers(x)


class Blocks(nn.Module):
    """Delegates with a running sum, which none takes, between them."""

    def __init__(self, *hidden: int) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.blocks = nn.ModuleList(Block(one) for one in hidden)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x).cumsum(0)
        return x


@pytest.mark.parametrize("hidden", [(24, 96, 40), (96, 24), (24, 96)])
def test_delegates_of_different_needs_share_a_workspace(hidden: tuple[int, ...]) -> None:
    def method_of(*widths: int):  # type: ignore[no-untyped-def]
        model = Blocks(*widths).eval()
        shapes = ({0: torch.export.Dim("n", min=1, max=64)},)
        run = etlab.export(
            model, (torch.randn(7, 16),), partitioner="xnnpack", dynamic_shapes=shapes
        )
        program = Runtime.get().load_program(run.file.data)
        kinds = [one.kind for one in program.metadata("forward").instructions]
        assert kinds.count("delegate") == len(widths)
        return model, program.load_method("forward")

    model, method = method_of(*hidden)
    for count in (3, 64, 1, 17, 64, 2):  # grows, and keeps what it has
        x = torch.randn(count, 16)
        (found,) = method.execute([x])
        torch.testing.assert_close(found, model(x), rtol=1e-4, atol=1e-4)
    alone = []
    for width in hidden:
        _, one = method_of(width)
        one.execute([torch.randn(64, 16)])
        alone.append(one.memory().delegate_workspace)
    assert method.memory().delegate_workspace == max(alone)
