"""A model with state: calibration leaves no trace in it, nor in the user's model."""

import torch
from torch import nn

import etlab
import etlab.runtime


class Remembers(nn.Module):
    """Adds what it has seen before."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layer = nn.Linear(4, 4)
        self.register_buffer("seen", torch.full((1, 4), 0.5))

    def forward(self, x):
        y = self.layer(x) + self.seen
        self.seen.copy_(y)
        return y


def test_state_begins_where_the_model_has_it():
    model = Remembers().eval()
    samples = [(torch.linspace(-1, 1 + seed, 4).reshape(1, 4),) for seed in range(4)]
    run = etlab.export(
        model, samples[0], quantizer="int8", calibration=samples, partitioner="xnnpack"
    )
    assert torch.equal(model.seen, torch.full((1, 4), 0.5))
    method = etlab.runtime.Runtime.get().load_program(run.file.data).load_method("forward")
    state = torch.full((1, 4), 0.5)
    for (x,) in samples:
        state = model.layer(x) + state
        assert (method.execute([x])[0] - state).abs().max() < 0.1
    report = etlab.sensitivity(model, samples[0], calibration=samples)
    assert torch.equal(model.seen, torch.full((1, 4), 0.5))
    assert report.quantized > 25
