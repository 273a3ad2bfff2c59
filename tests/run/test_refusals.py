import pytest
import torch
from torch import nn
from torch.export import Dim

import etlab
from etlab.errors import ExportError

X = torch.ones(2, 5, 4)
SEQUENCE = ({1: Dim("steps", min=2, max=32)},)


class Fixed(nn.Module):
    def forward(self, x):
        return x + torch.ones(5, 1)  # needs five steps


class Masked(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mask", torch.ones(32, 32))

    def forward(self, x):
        steps = x.shape[1]
        return x @ x.transpose(1, 2) * ~self.mask[:steps, :steps].bool()


class Reshaped(nn.Module):
    def forward(self, x):
        batch, steps, width = x.shape
        y = x.reshape(batch * steps, width).reshape(batch * steps, 2, 2)
        return y.reshape(batch, steps, width) + 1


class Decides(nn.Module):
    def forward(self, x):
        return x if x.sum() > 0 else -x


class Packed(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.GRU(4, 3, batch_first=True)

    def forward(self, x):
        lengths = x[:, 0, 0].long() + 3
        packed = nn.utils.rnn.pack_padded_sequence(x, lengths, batch_first=True)
        return nn.utils.rnn.pad_packed_sequence(self.layer(packed)[0])[0]


BATCH_AND_STEPS = ({0: Dim("batch", min=2, max=4), 1: Dim("steps", min=2, max=16)},)
REFUSED = {
    "one size only": (Fixed, SEQUENCE, "needs five steps", "make the dimension static"),
    "a slice as long as the bound": (Masked, SEQUENCE, "self.mask[:steps", "up to 31"),
    "a guard": (Reshaped, BATCH_AND_STEPS, "reshape(batch", "one reshape for several"),
    "packed sequences": (Packed, None, "pad_packed_sequence(", "the padded tensor"),
    "a branch on values": (Decides, None, "if x.sum() > 0", "torch.cond"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_refusal_names_the_line_and_the_way_out(name):
    model, shapes, line, way_out = REFUSED[name]
    with pytest.raises(ExportError, match=r"torch\.export refused") as caught:
        etlab.export(model(), (X,), dynamic_shapes=shapes)
    message = str(caught.value)
    assert line in message
    assert __file__ in message
    assert way_out in message
    assert caught.value.__cause__ is not None


def test_a_recurrent_layer_takes_any_number_of_steps():
    class Model(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.LSTM(4, 3, batch_first=True, bidirectional=True)

        def forward(self, x):
            return self.layer(x)[0]

    model = Model()
    run = etlab.export(model, (X,), dynamic_shapes=SEQUENCE)
    for steps in (2, 5, 31):
        inputs = torch.randn(2, steps, 4)
        torch.testing.assert_close(run.run((inputs,)), model(inputs))
