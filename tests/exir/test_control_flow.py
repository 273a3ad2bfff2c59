import torch
from exir.lowering import Function, lower, seeded


def _steps(function: object, *inputs: torch.Tensor) -> list[str]:
    return list(lower(Function(function), *inputs).memory_plan().steps)


def test_branches_write_the_result_without_a_copy() -> None:
    steps = _steps(
        lambda x: torch.cond(x.sum() > 0, lambda x: x * 2, lambda x: x - 1, [x]), seeded(3)
    )
    assert steps[2:] == ["jump", "aten::mul.Scalar_out", "jump", "aten::sub.Scalar_out"]


def test_what_a_loop_reads_stays_until_its_end() -> None:
    from torch._higher_order_ops.map import map as torch_map

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        scale = y * 3
        result: torch.Tensor = torch_map(lambda row, s: (row * s).relu() + 1, x, scale)
        return result

    plan = lower(Function(function), seeded(4, 3), seeded(3)).memory_plan()
    scale = next(t for t in plan.tensors if t.operator == "aten::mul.Scalar_out")
    assert scale.last_use == plan.steps.index("jump")
    stack = next(t for t in plan.tensors if t.shape == (4, 3) and t.operator != "input")
    assert stack.first_use <= plan.steps.index("aten::select_copy.int_out")
    assert stack.last_use == len(plan.steps) - 1
