import torch
from exir.lowering import Function, lower, seeded
from torch import nn


def _operators(program: object) -> list[str]:
    return list(program.memory_plan().steps)  # type: ignore[attr-defined]


def test_a_static_view_costs_nothing() -> None:
    program = lower(Function(lambda x: (x * 2).view(6).unsqueeze(0).relu()), seeded(2, 3))
    assert _operators(program) == ["aten::mul.Scalar_out", "aten::relu.out"]


def test_views_stay_copies_when_asked() -> None:
    function = Function(lambda x: (x * 2).view(6).relu())
    program = lower(function, seeded(2, 3), remove_view_copy=False)
    assert "aten::view_copy.out" in _operators(program)


def test_an_output_always_has_memory_of_its_own() -> None:
    program = lower(Function(lambda x: (x.view(6), x.view(3, 2))), seeded(2, 3))
    assert _operators(program) == ["aten::view_copy.out"] * 2
    plan = program.memory_plan()
    assert len({tensor.offset for tensor in plan.tensors}) == 3


def test_a_permutation_that_moves_nothing_is_a_view() -> None:
    program = lower(Function(lambda x: x.permute(1, 0, 2).relu()), seeded(1, 3, 4))
    assert _operators(program) == ["aten::relu.out"]
    program = lower(Function(lambda x: x.permute(1, 0, 2).relu()), seeded(2, 3, 4))
    assert "aten::permute_copy.out" in _operators(program)


def test_the_base_lives_as_long_as_its_views() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        base = x * 2
        view = base.view(6)
        for _ in range(3):
            x = x + 1
        return view + x.sum()

    program = lower(Function(function), seeded(2, 3))
    base = next(t for t in program.memory_plan().tensors if t.operator == "aten::mul.Scalar_out")
    assert base.last_use == len(program.memory_plan().steps) - 1


class Swap(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", torch.tensor([1.0]))
        self.register_buffer("b", torch.tensor([2.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        a, b = self.a.clone(), self.b.clone()
        self.a.copy_(b)
        self.b.copy_(a)
        return x + a


def test_buffers_that_swap_are_copied_before_they_are_written() -> None:
    steps = _operators(lower(Swap(), seeded(1)))
    assert steps.count("dim_order_ops::_clone_dim_order.out") == 2
    assert steps[-2:] == ["aten::copy_"] * 2
