import torch
from exir.lowering import Function, Mlp, lower, seeded
from torch import nn

from etlab.exir.emit.file import read_program
from etlab.exir.memory.from_program import plan_of_program


def _both(program):  # type: ignore[no-untyped-def]
    stored = (read_program(program.buffer).program.execution_plan or ())[0]
    return program.memory_plan(), plan_of_program(stored)


def _shape_of(plan):  # type: ignore[no-untyped-def]
    return sorted(
        (
            t.memory_id,
            t.offset,
            t.nbytes,
            t.first_use,
            t.last_use,
            t.operator,
            t.shape,
            t.dtype,
            t.uses,
        )
        for t in plan.tensors
    )


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.zeros(3))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(x)
        return self.count * 2


def test_the_file_gives_the_plan_that_the_compiler_made() -> None:
    for model, inputs in (
        (Mlp(), (seeded(2, 5),)),
        (Counter(), (seeded(3),)),
        (Function(lambda x: (x * 2).view(6).relu().topk(2)), (seeded(2, 3),)),
    ):
        ours, read = _both(lower(model, *inputs))
        assert _shape_of(read) == _shape_of(ours)
        assert (read.steps, read.peak, read.lower_bound) == (
            ours.steps,
            ours.peak,
            ours.lower_bound,
        )


def test_sources_come_from_the_stored_stack_traces() -> None:
    model = Function(lambda x: x.softmax(0))
    _, read = _both(lower(model, seeded(2, 5), emit_stacktrace=True))
    assert any("lowering.py:" in tensor.source for tensor in read.tensors)
