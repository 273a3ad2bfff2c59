import torch
from exir.lowering import lower
from torch import nn

from etlab.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from etlab.runtime import Runtime


class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("count", torch.full((), 5.0))

    def forward(self, x):
        self.count.add_(1)
        return x + self.count


def test_state_begins_with_the_value_of_its_buffer():
    program = lower(Counter(), torch.zeros(2), passes=[InitializedMutableBufferPass(["count"])])
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    assert method.execute([torch.zeros(2)])[0].tolist() == [6.0, 6.0]
