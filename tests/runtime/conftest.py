"""Small programs for the tests of the runtime, compiled by the official exporter and by ours."""

import functools
import signal
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import torch
from small_models import Counter, Mlp
from torch._higher_order_ops.map import map as torch_map

from etlab.runtime import Program, Runtime


class Add(torch.nn.Module):
    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return x + y


class Nested(torch.nn.Module):
    def forward(
        self, pair: tuple[torch.Tensor, torch.Tensor], *, scale: torch.Tensor, bias: torch.Tensor
    ) -> dict[str, Any]:
        first, second = pair
        return {"sum": first + second, "parts": [first * scale, (second + bias,)]}


class Update(torch.nn.Module):
    """Updates its first input in place."""

    def forward(self, total: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        total.add_(x)
        return total * 2


class Branches(torch.nn.Module):
    def forward(self, flag: torch.Tensor, x: torch.Tensor) -> torch.Tensor:
        return torch.cond(flag, lambda x: x + 1.0, lambda x: x * 2.0, (x,))


class Scaled(torch.nn.Module):
    def forward(self, x: torch.Tensor, scale: float) -> torch.Tensor:
        return torch.relu(x) + torch.relu(x)


class Long(torch.nn.Module):
    """Runs for about a second in the native runtime."""

    def forward(self, x: torch.Tensor, weight: torch.Tensor) -> torch.Tensor:
        for _ in range(60):
            x = torch.mm(x, weight)
        return x


class SlowCounter(torch.nn.Module):
    """Counts its runs, each of which takes a while."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(1))

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        self.count.add_(1.0)
        for _ in range(40):
            x = torch.mm(x, x) * 0.01
        return x, self.count + 0.0


class Views(torch.nn.Module):
    """Other shapes of the same bytes."""

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        doubled = x * 2.0
        return doubled.view(3, 5).t() + 1.0, torch.relu(doubled.unsqueeze(0)).reshape(-1)


class Rows(torch.nn.Module):
    """A loop in the program: one round a row."""

    def forward(self, x: torch.Tensor, scale: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = torch_map(lambda row, scale: (row * scale).relu() + 1, x, scale)
        return result * 2.0


class Sorted(torch.nn.Module):
    """One operator that takes long and is not shared among threads."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(x, 900).values


def _floats(*sizes: int) -> torch.Tensor:
    return torch.randn(sizes, generator=torch.Generator().manual_seed(sum(sizes)))


# name -> (module, args, kwargs, dynamic shapes)
MODELS: dict[str, tuple[Callable[[], torch.nn.Module], tuple[Any, ...], dict[str, Any], Any]] = {
    "mlp": (Mlp, (_floats(2, 5),), {}, None),
    "add": (Add, (_floats(3, 5), _floats(5)), {}, None),
    "image": (Add, (_floats(1, 3, 5, 7), _floats(1, 3, 5, 7)), {}, None),
    "dynamic": (Mlp, (_floats(4, 5),), {}, {"x": {0: torch.export.Dim("batch", min=1, max=8)}}),
    "nested": (
        Nested,
        ((_floats(3), _floats(3)),),
        {"scale": _floats(3), "bias": _floats(1)},
        None,
    ),
    "counter": (Counter, (_floats(3),), {}, None),
    "update": (Update, (_floats(2, 3), _floats(2, 3)), {}, None),
    "slow_counter": (SlowCounter, (_floats(300, 300),), {}, None),
    "rows": (Rows, (_floats(4, 3), _floats(3)), {}, None),
    "sorted": (Sorted, (_floats(2000, 1000),), {}, None),
    "views": (Views, (_floats(15),), {}, None),
    "branches": (Branches, (torch.tensor(True), _floats(3)), {}, None),
    "scaled": (Scaled, (_floats(3), 0.5), {}, None),
    "long": (Long, (torch.eye(700) * 0.5, _floats(700, 700) * 0.02), {}, None),
}


@functools.cache
def compile_program(name: str, compiler: str) -> bytes:
    module, args, kwargs, dynamic_shapes = MODELS[name]
    exported = torch.export.export(module(), args, kwargs, dynamic_shapes=dynamic_shapes)
    if compiler == "official":
        exir = pytest.importorskip("executorch.exir", reason="executorch is not installed")
        config = exir.ExecutorchBackendConfig()
        if name == "counter":
            from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

            config = exir.ExecutorchBackendConfig(
                passes=[InitializedMutableBufferPass(["total"])], emit_mutable_buffer_names=True
            )
    else:
        from etlab import exir

        config = exir.ExecutorchBackendConfig()
    return bytes(exir.to_edge(exported).to_executorch(config).buffer)


@pytest.fixture(params=["official", "etlab"])
def compiler(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def compiled() -> Callable[..., bytes]:
    """compiled(name, compiler="official") gives the bytes of a program."""

    def get(name: str, compiler: str = "official") -> bytes:
        return compile_program(name, compiler)

    return get


@pytest.fixture
def load(compiled: Callable[..., bytes]) -> Callable[..., Program]:
    """load(name, compiler="official") gives a freshly loaded program."""

    def get(name: str, compiler: str = "official") -> Program:
        return Runtime.get().load_program(compiled(name, compiler))

    return get


@pytest.fixture
def example() -> Callable[[str], tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]]:
    """example(name) gives a fresh module with its arguments."""

    def get(name: str) -> tuple[torch.nn.Module, tuple[Any, ...], dict[str, Any]]:
        module, args, kwargs, _ = MODELS[name]
        return module(), args, kwargs

    return get


@pytest.fixture
def listens_to_interrupts() -> Iterator[None]:
    """Python's own handler of SIGINT, which a process that was started in the background lacks."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
