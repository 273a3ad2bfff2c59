import torch
from torch import nn

from etlab.exir.edge import OutputKind
from etlab.exir.passes.remove_dead_code import RemoveDeadCode
from etlab.testing_graphs import check_pass


class Unused(nn.Module):
    def __init__(self):
        super().__init__()
        self.used, self.unused = nn.Linear(5, 4), nn.Linear(5, 4)
        self.register_buffer("count", torch.zeros(()))

    def forward(self, x):
        self.unused(x)
        self.count.add_(1)
        return self.used(x)


def test_unused_layers_go_and_written_buffers_stay():
    edge, changed = check_pass(RemoveDeadCode(), Unused(), torch.randn(3, 5), keep_whole=True)
    assert changed
    assert set(edge.tensors) == {"used.weight", "used.bias", "count"}
    assert edge.outputs[0].kind is OutputKind.BUFFER_MUTATION
