"""ExecuTorch's operators for caches, by their names, in a user's own module."""

import torch
from torch import nn

import etlab
from etlab.llm import operators  # noqa: F401  defines llama::
from etlab.runtime import Runtime

HEADS, OWN, DEPTH, PLACES = 4, 2, 8, 12


class Fused(nn.Module):
    """Attention that keeps its keys and values, in one operator."""

    def __init__(self) -> None:
        super().__init__()
        for name in ("keys", "values"):
            self.register_buffer(name, torch.zeros(1, PLACES, OWN, DEPTH))

    def forward(
        self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, position: torch.Tensor
    ) -> torch.Tensor:
        start = position.item()
        torch._check(start >= 0)
        torch._check(start + query.shape[1] <= PLACES)
        return torch.ops.llama.sdpa_with_kv_cache(
            query, key, value, self.keys, self.values, start, query.shape[1], None, 0.0, True
        )


class Scattered(nn.Module):
    """Rows that go to the places that are said."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(1, PLACES, OWN, DEPTH))

    def forward(self, value: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
        torch.ops.llama.update_cache_with_indices(value, self.cache, 0, places)
        return self.cache * 2


def rows(length: int, heads: int, seed: int) -> torch.Tensor:
    return torch.randn(1, length, heads, DEPTH, generator=torch.Generator().manual_seed(seed))


def operators_of(run: etlab.ExportRun) -> set[str]:
    plan = run.program.executorch_program.execution_plan[0]
    return {f"{one.name}.{one.overload}" for one in plan.operators}


def test_one_operator_writes_the_cache_and_attends() -> None:
    model = Fused()
    inputs = (rows(3, HEADS, 0), rows(3, OWN, 1), rows(3, OWN, 2), torch.tensor(0))
    length = torch.export.Dim("length", min=1, max=PLACES)
    run = etlab.export(model, inputs, dynamic_shapes=({1: length}, {1: length}, {1: length}, None))
    assert "llama::sdpa_with_kv_cache.out" in operators_of(run)
    assert "aten::copy_." not in operators_of(run)  # it writes the state itself
    method = Runtime.get().load_program(run.program.buffer).load_method("forward")
    eager, position = Fused(), 0
    for seed, count in enumerate((5, 1, 1, 4)):
        call = (rows(count, HEADS, seed), rows(count, OWN, seed + 9), rows(count, OWN, seed + 99))
        where = torch.tensor(position)
        (given,) = method.execute([*call, where])
        torch.testing.assert_close(given, eager(*call, where), rtol=1e-5, atol=1e-5)
        position += count


def test_rows_go_to_the_places_that_are_said() -> None:
    inputs = (rows(3, OWN, 0), torch.tensor([[7, 0, 11]]))
    run = etlab.export(Scattered(), inputs)
    assert "llama::update_cache_with_indices.out" in operators_of(run)
    method = Runtime.get().load_program(run.program.buffer).load_method("forward")
    eager = Scattered()
    for seed, places in enumerate(([7, 0, 11], [1, 2, 3], [0, 1, 5])):
        call = (rows(3, OWN, seed), torch.tensor([places]))
        (given,) = method.execute(list(call))
        torch.testing.assert_close(given, eager(*call))
