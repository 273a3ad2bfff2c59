"""Writes what a fuzzer begins with: make_corpus.py FOLDER DICTIONARY.

Small programs of our own compiler, one a call of an operator and some that have more to them, and a
dictionary with the names that a program can hold.
"""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from etlab import exir
from etlab.runtime import Runtime

sys.path.insert(0, str(Path(__file__).parents[1]))

from interop import corpus

MOST_BYTES = 4096  # of a seed; large ones make a fuzzer slow


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


class Branches(torch.nn.Module):
    """Control flow: jumps and moves."""

    def forward(self, flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        """x + 1 or 2 x."""
        return torch.cond(flag, lambda x: x + 1.0, lambda x: x * 2.0, (x,))


class Sizes(torch.nn.Module):
    """Dynamic shapes and what is computed from them."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Twice as many rows."""
        return torch.cat([x, x * x.shape[0]]).reshape(-1)


_DYNAMIC = {"x": {0: torch.export.Dim("rows", min=1, max=6)}}
MODELS: dict[str, tuple[torch.nn.Module, tuple[torch.Tensor, ...], Any]] = {
    "mlp": (Mlp(), (torch.ones(2, 4),), None),
    "image": (Image(), (torch.ones(1, 2, 6, 6),), None),
    "moves": (Moves(), (torch.ones(4, 4), torch.zeros(4, 2, dtype=torch.int64)), None),
    "counter": (Counter(), (torch.ones(3),), None),
    "branches": (Branches(), (torch.tensor(True), torch.ones(3)), None),
    "sizes": (Sizes(), (torch.ones(3, 2),), _DYNAMIC),
}


def model_programs() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """The models above."""
    for name, (model, inputs, dynamic) in MODELS.items():

        def compiled(model: Any = model, inputs: Any = inputs, dynamic: Any = dynamic) -> bytes:
            exported = torch.export.export(model.eval(), inputs, dynamic_shapes=dynamic)
            config = exir.ExecutorchBackendConfig(emit_mutable_buffer_names=True)
            return exir.to_edge(exported).to_executorch(config).buffer

        yield name, compiled


def call_programs() -> Iterator[tuple[str, Callable[[], bytes]]]:
    """Of each operator with a kernel, one call."""
    for name in sorted(corpus.CASES):
        if corpus.functional_of(name) is None:
            continue

        def compiled(name: str = name) -> bytes:
            return next(corpus.samples(name)).program

        yield name.replace("::", "-"), compiled


def write_dictionary(path: Path) -> None:
    """The names of operators and the words of the file format, in the fuzzer's notation."""
    words = {"ET12", "eh00", "FT01", "FH01", "forward", "XnnpackBackend"}
    for name in Runtime.get().operator_registry.operator_names:
        base, _, overload = name.partition(".")
        words.update({base, overload} - {""})
    path.write_text("".join(f'"{word}"\n' for word in sorted(words)))


def main() -> None:
    """Write the seeds; what cannot be compiled is left out with its reason."""
    folder, dictionary = Path(sys.argv[1]), Path(sys.argv[2])
    written = 0
    for name, compiled in [*model_programs(), *call_programs()]:
        try:
            program = compiled()
        except Exception as error:
            print(f"{name}: left out, {type(error).__name__}: {error}", file=sys.stderr)
            continue
        if len(program) <= MOST_BYTES:
            (folder / f"{name}.pte").write_bytes(program)
            written += 1
    write_dictionary(dictionary)
    print(f"{written} seeds")
    if not written:
        sys.exit("no program could be compiled")


if __name__ == "__main__":
    main()
