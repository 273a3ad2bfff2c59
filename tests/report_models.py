"""Small runs that the views of reports are tested on, with something to see in each."""

import torch
from torch import nn

import etlab


class Splitting(nn.Module):
    """A net whose middle no delegate takes, and one layer with a range that is hard to quantize."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first, self.norm = nn.Conv2d(3, 5, 3), nn.BatchNorm2d(5)
        self.head = nn.Linear(5, 7)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.norm(self.first(x)))
        y = torch.erf(torch.cumsum(y, 1))
        return torch.softmax(self.head(y.mean((2, 3))), -1)


def splitting_run(**options) -> etlab.ExportRun:
    """Its export for XNNPACK on two samples."""
    samples = [(torch.linspace(-1, 1 + k, 147).sin().reshape(1, 3, 7, 7),) for k in range(2)]
    options = {"partitioner": "xnnpack", "calibration": samples, "name": "toy"} | options
    return etlab.export(Splitting().eval(), samples[0], **options)
