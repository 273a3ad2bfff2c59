import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch import nn

CLONE = "dim_order_ops::_clone_dim_order.out"


def _image() -> torch.Tensor:
    return seeded(1, 3, 5, 5).contiguous(memory_format=torch.channels_last)


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1)
        self.first.to(memory_format=torch.channels_last)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu()).mean((2, 3))


def test_contiguous_programs_are_not_touched() -> None:
    program = lower(Convolutions(), seeded(1, 3, 5, 5))
    assert CLONE not in program.memory_plan().steps


def test_an_input_keeps_its_layout_and_is_converted_once() -> None:
    program = lower(Function(lambda x: (x.mean((2, 3)), x.sum((2, 3)))), _image())
    assert list(program.memory_plan().steps).count(CLONE) == 1
    plan = (program.executorch_program.execution_plan or ())[0]
    entry = (plan.values or ())[(plan.inputs or ())[0]].val
    assert entry.dim_order == (0, 2, 3, 1)  # type: ignore[union-attr]


@pytest.mark.parametrize("order", [(2, 0, 1), (1, 2, 0)])
def test_any_order_of_dimensions_can_come_in(order: tuple[int, ...]) -> None:
    program = lower(Function(lambda x: x + 1), seeded(2, 3, 4).permute(order))
    assert program.memory_plan().steps == (CLONE, "aten::add.Scalar_out")


def test_values_inside_are_contiguous() -> None:
    plan = (lower(Convolutions(), _image()).executorch_program.execution_plan or ())[0]
    orders = [
        entry.val.dim_order
        for index, entry in enumerate(plan.values or ())
        if hasattr(entry.val, "dim_order") and index not in (plan.inputs or ())
    ]
    assert all(order == tuple(range(len(order))) for order in orders)
