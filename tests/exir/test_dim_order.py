import torch
from torch import nn

from exir.lowering import Function, lower, seeded

CONVERT = "dim_order_ops::_to_dim_order_copy.out"
CLONE = "dim_order_ops::_clone_dim_order.out"


def _orders(program: object) -> list[tuple[str, tuple[int, ...]]]:
    """Each call with the order of its result."""
    plan = program.executorch_program.execution_plan[0]  # type: ignore[attr-defined]
    result = []
    for instruction in plan.chains[0].instructions:
        call = instruction.instr_args
        output = plan.values[call.args[-1]].val
        name = f"{plan.operators[call.op_index].name}"
        result.append((name, getattr(output, "dim_order", ())))
    return result


class Convolutions(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 4, 3), nn.Conv2d(4, 2, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(self.first(x).relu()).mean((2, 3))


def test_contiguous_programs_are_not_touched() -> None:
    program = lower(Convolutions(), seeded(1, 3, 5, 5))
    assert not any(name.startswith("dim_order_ops") for name in program.memory_plan().steps)


def test_channels_last_flows_from_the_input_through_convolutions() -> None:
    image = seeded(1, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    orders = _orders(lower(Convolutions(), image))
    convolutions = [order for name, order in orders if name == "aten::convolution"]
    assert convolutions == [(0, 2, 3, 1)] * 2


def test_operators_that_need_it_get_a_contiguous_copy() -> None:
    image = seeded(1, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    orders = _orders(lower(Convolutions(), image))
    names = [name for name, _ in orders]
    assert names.index("dim_order_ops::_clone_dim_order") == names.index("aten::mean") - 1
    assert orders[-1][1] == (0, 1)


def test_one_conversion_serves_all_readers() -> None:
    image = seeded(1, 3, 5, 5).contiguous(memory_format=torch.channels_last)
    program = lower(Function(lambda x: (x.mean((2, 3)), x.sum((2, 3)))), image)
    assert list(program.memory_plan().steps).count(CLONE) == 1


def test_a_conversion_in_the_model_decides_the_order() -> None:
    def function(x: torch.Tensor) -> torch.Tensor:
        return x.to(memory_format=torch.channels_last).relu()

    orders = _orders(lower(Function(function), seeded(1, 3, 5, 5)))
    assert [order for _, order in orders] == [(0, 2, 3, 1)] * 2
