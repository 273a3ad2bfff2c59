"""Small models, one a feature of programs, with the calls that both runtimes make."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from exir.lowering import Function, seeded
from torch import nn
from torch.export import Dim


@dataclass(frozen=True)
class Model:
    """A model and the calls to make, in order (state carries over)."""

    make: Callable[[], nn.Module]
    calls: Sequence[tuple[Any, ...]]
    dynamic_shapes: Any = None
    options: dict[str, Any] = field(default_factory=dict)

    def build(self) -> nn.Module:
        """The model with the same weights every time, ready to run."""
        with torch.random.fork_rng():
            torch.manual_seed(0)
            return self.make().eval()


class ConvNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.head = nn.Linear(8 * 4 * 4, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.head(self.features(x).flatten(1)).softmax(-1)
        return result


class Aliases(nn.Module):
    """Returns an input, a view of it, a weight, one value twice, and constants."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(seeded(3))

    def forward(self, x: torch.Tensor) -> Any:
        y = x + 1
        return {"x": x, "view": x.reshape(-1), "w": self.weight, "y": (y, y), "v": y.view(3, 5)}


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embedding = nn.Embedding(11, 8)
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
        self.decoder = nn.Linear(8, 11, bias=False)
        self.decoder.weight = self.embedding.weight

    def forward(self, ids: torch.Tensor) -> torch.Tensor:
        result: torch.Tensor = self.decoder(self.layer(self.embedding(ids)))
        return result


class State(nn.Module):
    """A counter and a moving average that start from given values."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([5.0]))
        self.register_buffer("average", seeded(3, seed=4))

    def forward(self, x: torch.Tensor) -> Any:
        before = self.count.clone()
        self.count.add_(1)
        self.average.copy_(self.average * 0.5 + x)
        return self.average.view(1, 3) + self.count, before, self.count


class Swap(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.tensor([1.0]))
        self.register_buffer("b", torch.tensor([2.0]))

    def forward(self, x: torch.Tensor) -> Any:
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        return x + a, a, b


class Cache(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.zeros(1, 8, 4))

    def forward(self, x: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        self.keys[:, position] = x
        return self.keys.sum(1)


class DynamicLinear(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 6)

    def forward(self, x: torch.Tensor) -> Any:
        y = self.linear(x).relu()
        return y.reshape(x.shape[0] * 2, 3), y.sum(0), x.shape[0], torch.cat([y, y])


class DynamicConvolution(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.convolution = nn.Conv2d(1, 2, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.convolution(x).flatten(2).transpose(1, 2).softmax(-1)


def _item(x: torch.Tensor, i: torch.Tensor) -> Any:
    n = i.item()
    torch._check(n >= 0)
    torch._check(n <= 5)
    return x.narrow(0, 0, n).sum(), x * n, torch.maximum(x, torch.tensor(n, dtype=torch.float32))


def _scalars(x: torch.Tensor) -> Any:
    return x * 2, 3 - x, 2 / x, x**2, 2**x, x > 0.5, x // 2, x % 3, torch.where(x > 1, x, 0)


def _splits(x: torch.Tensor) -> Any:
    a, b, c = x.split([1, 2, 3], 1)
    return a + 1, b * 2, c, *x.chunk(2, 0), *x.unbind(0)


def _created(x: torch.Tensor) -> Any:
    made = torch.full((2, 3), 1.5) + x, torch.arange(3) + x[1], torch.full_like(x, 7)
    return *made, x.to(torch.float64), x.to(torch.int32), x[:0] + 1, torch.cat([x[:0], x])


def _permuted(x: torch.Tensor) -> Any:
    y = x.permute(1, 0, 2)
    return y.reshape(-1), y.contiguous() + 1, y, y.unsqueeze(0).expand(2, 3, 2, 4) * 2, x[..., ::2]


def _mixed(x: torch.Tensor) -> Any:
    i = torch.tensor([[0, 1], [1, 0]], dtype=torch.int32)
    return torch.cat([x, i]), torch.gather(x, 1, i), torch.stack([x > 0, i])


def _numbers(x: torch.Tensor, n: int, f: float, flag: bool) -> Any:
    return x * n + f, n, flag, None


def _changes_its_input(x: torch.Tensor) -> torch.Tensor:
    x.add_(1)
    return x * 2


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.LSTM(3, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.second = nn.GRU(10, 4, batch_first=True)

    def forward(self, x: torch.Tensor) -> Any:
        outputs, (hidden, _cell) = self.first(x)
        return self.second(outputs)[0], hidden


def _cut(x: torch.Tensor) -> Any:
    return *x.chunk(2, 1), *x[:, :2].unbind(1), *x.split([1, 5], 1)


def _sized(x: torch.Tensor) -> Any:
    n = x.shape[0]
    return x / n**2, x * n**0.5, x * torch._sym_sqrt(n), n**3, n // 2, x[: n - 1], n * 0.5


def _running(x: torch.Tensor) -> Any:
    return torch.sort(x, stable=True, descending=True), torch.cumprod(x, 0), x.median(1)


_IMAGE = seeded(1, 3, 8, 8, seed=1)
MODELS: dict[str, Model] = {
    "convolutions": Model(ConvNet, [(_IMAGE,)]),
    "a channels-last input": Model(
        ConvNet, [(_IMAGE.contiguous(memory_format=torch.channels_last),)]
    ),
    "aliased outputs": Model(Aliases, [(seeded(5, 3),)]),
    "an encoder with tied weights": Model(Encoder, [(torch.tensor([[1, 2, 3, 10]]),)]),
    "state": Model(State, [(seeded(3, seed=i),) for i in range(3)]),
    "named state": Model(State, [(seeded(3),)] * 2, options={"emit_mutable_buffer_names": True}),
    "buffers that swap": Model(Swap, [(seeded(1),)] * 3),
    "a cache": Model(Cache, [(seeded(1, 1, 4, seed=i), torch.tensor([i])) for i in range(3)]),
    "dynamic rows": Model(
        DynamicLinear, [(seeded(n, 4),) for n in (3, 8, 2)], ({0: Dim("n", min=2, max=8)},)
    ),
    "dynamic pictures": Model(
        DynamicConvolution,
        [(seeded(1, 1, 8, 6),), (seeded(1, 1, 5, 4),)],
        ({2: Dim("h", max=10), 3: Dim("w", max=9)},),
    ),
    "recurrent layers": Model(Recurrent, [(seeded(2, 7, 3),)] * 2),
    "recurrent layers of dynamic batch": Model(
        Recurrent, [(seeded(n, 4, 3),) for n in (3, 1, 6)], ({0: Dim("n", max=6)},)
    ),
    "splits of dynamic rows": Model(
        lambda: Function(_cut), [(seeded(n, 6),) for n in (3, 1, 6)], (({0: Dim("n", max=6)},),)
    ),
    "numbers out of tensors": Model(
        lambda: Function(_item), [(seeded(6), torch.tensor(3)), (seeded(6), torch.tensor(1))]
    ),
    "scalar operands": Model(lambda: Function(_scalars), [(seeded(2, 3).abs() + 0.1,)]),
    "integer operands": Model(lambda: Function(_scalars), [(torch.tensor([[1, 2], [5, 7]]),)]),
    "integer remainders": Model(
        lambda: Function(lambda x, y: (x % y, x % 3, x % -5, x % 8, x.fmod(y))),
        [(torch.tensor([7, -8, 9, -1]), torch.tensor([2, 3, -4, -7], dtype=torch.int32))],
    ),
    "split results": Model(lambda: Function(_splits), [(seeded(2, 6),)]),
    "several results": Model(
        lambda: Function(lambda x: (*x.topk(2), *x.max(1))), [(seeded(2, 6),)]
    ),
    "created tensors": Model(lambda: Function(_created), [(seeded(2, 3),)]),
    "permutations": Model(lambda: Function(_permuted), [(seeded(2, 3, 4),)]),
    "mixed dtypes": Model(lambda: Function(_mixed), [(seeded(2, 2),)]),
    "numbers as inputs": Model(lambda: Function(_numbers), [(seeded(2), 3, 2.5, True)]),
    "a changed input": Model(lambda: Function(_changes_its_input), [(seeded(2, 3),)]),
    "stack traces and alignments": Model(
        ConvNet,
        [(_IMAGE,)],
        options={
            "emit_stacktrace": True,
            "segment_alignment": 4096,
            "constant_tensor_alignment": 64,
            "remove_view_copy": False,
        },
    ),
}


def _branches(x: torch.Tensor) -> torch.Tensor:
    result: torch.Tensor = torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, [x])
    return result


def _mapped(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    from torch._higher_order_ops.map import map as torch_map

    result: torch.Tensor = torch_map(lambda row, y: row * y + 1, x, y)
    return result


def _scanned(x: torch.Tensor) -> Any:
    from torch._higher_order_ops.scan import scan

    return scan(lambda carry, row: (carry + row, carry * row), torch.zeros(3), x)


def _counted(i: torch.Tensor, x: torch.Tensor) -> Any:
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(lambda i, x: (i < 5).all(), lambda i, x: (i + 1, x * 2), (i, x))


def _fibonacci(i: torch.Tensor, a: torch.Tensor, b: torch.Tensor) -> Any:
    """The carried values move over by one in every turn."""
    from torch._higher_order_ops.while_loop import while_loop

    return while_loop(
        lambda i, a, b: (i < 6).all(),
        lambda i, a, b: (i + 1, b.clone(), a + b),
        (i, a, b),
    )


def _nested(x: torch.Tensor) -> torch.Tensor:
    from torch._higher_order_ops.map import map as torch_map

    def row(r: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        z = r * y
        result: torch.Tensor = torch.cond(z.sum() > 0, lambda z: z.relu() + 1, lambda z: z - 1, [z])
        return result

    y = x[0] * 3
    result: torch.Tensor = torch_map(row, x, y) + y
    return result


CONTROL_FLOW: dict[str, Model] = {
    "branches": Model(lambda: Function(_branches), [(seeded(3).abs(),), (-seeded(3).abs(),)]),
    "a mapped function": Model(lambda: Function(_mapped), [(seeded(4, 3), seeded(3, seed=1))] * 2),
    "a scan": Model(lambda: Function(_scanned), [(seeded(4, 3),)] * 2),
    "branches in a loop": Model(lambda: Function(_nested), [(seeded(4, 3, seed=2),)] * 2),
}

# What the official exporter refuses.
BEYOND_OFFICIAL: dict[str, Model] = {
    "sorting and running products": Model(
        lambda: Function(_running),
        [(seeded(n, m).round(),) for n, m in ((3, 90), (2, 5), (4, 99))],
        (({0: Dim("n", max=4), 1: Dim("m", max=99)},),),
    ),
    "arithmetic on sizes": Model(
        lambda: Function(_sized),
        [(seeded(n, 2),) for n in (4, 3, 9)],
        (({0: Dim("n", min=3, max=9)},),),
    ),
    "a while loop": Model(
        lambda: Function(_counted), [(torch.tensor(i), seeded(3)) for i in (0, 3, 7)]
    ),
    "carried values that change places": Model(
        lambda: Function(_fibonacci),
        [(torch.tensor(i), torch.tensor(0), torch.tensor(1)) for i in (0, 2)],
    ),
}
