"""Writes small programs of our own compiler for the fuzzer to begin with: make_corpus.py FOLDER."""

import sys
from pathlib import Path

import torch

from etlab import exir


class Mlp(torch.nn.Module):
    """Constants, matrix products, an activation."""

    def __init__(self) -> None:
        """Make the layers."""
        super().__init__()
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(4, 5), torch.nn.ReLU(), torch.nn.Linear(5, 3)
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The logits of a batch."""
        return torch.softmax(self.layers(x), dim=-1)


class Image(torch.nn.Module):
    """Convolution, pooling and what is around them."""

    def __init__(self) -> None:
        """Make the convolution."""
        super().__init__()
        self.conv = torch.nn.Conv2d(2, 3, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """One score a channel."""
        x = torch.nn.functional.max_pool2d(torch.relu(self.conv(x)), 2)
        return x.mean(dim=(2, 3)).permute(1, 0)


class Moves(torch.nn.Module):
    """Views, indexing, lists of tensors."""

    def forward(self, x: torch.Tensor, index: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Several rearrangements of x."""
        parts = torch.split(x, 2, dim=1)
        gathered = torch.gather(x, 1, index)
        return torch.cat([parts[1], parts[0]], dim=1), gathered, x[index[:, 0]], x.t() * 2


class Counter(torch.nn.Module):
    """State."""

    def __init__(self) -> None:
        """Begin at one."""
        super().__init__()
        self.register_buffer("total", torch.ones(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The sum of all inputs so far."""
        self.total.add_(x)
        return self.total.clone()


MODELS: dict[str, tuple[torch.nn.Module, tuple[torch.Tensor, ...]]] = {
    "mlp": (Mlp(), (torch.ones(2, 4),)),
    "image": (Image(), (torch.ones(1, 2, 6, 6),)),
    "moves": (Moves(), (torch.ones(4, 4), torch.zeros(4, 2, dtype=torch.int64))),
    "counter": (Counter(), (torch.ones(3),)),
}


def main() -> None:
    """Write one file a model; a model that cannot be compiled is left out with its reason."""
    folder = Path(sys.argv[1])
    written = 0
    for name, (model, inputs) in MODELS.items():
        try:
            program = exir.to_edge(torch.export.export(model.eval(), inputs)).to_executorch()
        except Exception as error:
            print(f"{name}: left out, {type(error).__name__}: {error}", file=sys.stderr)
            continue
        (folder / f"{name}.pte").write_bytes(program.buffer)
        written += 1
    if not written:
        sys.exit("no program could be compiled")


if __name__ == "__main__":
    main()
