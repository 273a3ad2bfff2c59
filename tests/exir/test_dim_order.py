import pytest
import torch
from exir.lowering import Function, lower, seeded
from interop.official import run_official
from torch import nn

from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.exir import to_edge_transform_and_lower
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_graphs import assert_same_layout

LAST, LAST_3D = torch.channels_last, torch.channels_last_3d
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


class Layouts(nn.Module):
    """Returns pictures and volumes in the layouts that eager gives them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("filter", _image())
        self.register_buffer("count", torch.zeros(2, 3, 4, 5).to(memory_format=LAST))

    def forward(self, image: torch.Tensor, volume: torch.Tensor) -> tuple[torch.Tensor, ...]:
        sums = image + 1
        before = self.count * 1
        self.count.add_(1)
        return (
            sums,
            sums,
            image,
            sums.to(memory_format=torch.contiguous_format),
            image.contiguous(),
            volume.relu().to(memory_format=LAST_3D),
            volume.to(memory_format=LAST_3D).tanh(),
            sums.mean(1, keepdim=True),
            image.contiguous().permute(0, 3, 1, 2),
            self.filter,
            before,
            self.count,
        )


def test_outputs_lie_as_eager_returns_them() -> None:
    image = seeded(2, 3, 5, 5).to(memory_format=LAST)
    volume = seeded(2, 3, 4, 5, 1)
    program = bytes(lower(Layouts(), image, volume).buffer)
    expected = Layouts()(image, volume)
    native = Runtime.get().load_program(program).load_method("forward")
    assert native is not None
    for path in (native.execute([image, volume]), run_official(program, [image, volume])):
        for index, (got, want) in enumerate(zip(path, expected, strict=True)):
            assert_same(got, want, f"output {index}")
            assert_same_layout(got, want, f"output {index}")


def test_outputs_of_any_size_lie_as_eager_returns_them() -> None:
    model, sizes = nn.Conv2d(3, 4, 3).to(memory_format=LAST), {0: torch.export.Dim("n", max=5)}
    program = lower(model, seeded(2, 3, 6, 5), dynamic_shapes=(sizes,))
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    assert method is not None
    image = seeded(4, 3, 6, 5)
    (got,) = method.execute([image])
    assert_same_layout(got, model(image))


def test_values_inside_are_contiguous() -> None:
    plan = (lower(Convolutions(), _image()).executorch_program.execution_plan or ())[0]
    orders = [
        entry.val.dim_order
        for index, entry in enumerate(plan.values or ())
        if hasattr(entry.val, "dim_order") and index not in (plan.inputs or ())
    ]
    assert all(order == tuple(range(len(order))) for order in orders)


def test_the_conversion_of_an_output_belongs_to_what_is_returned() -> None:
    exported = torch.export.export(Convolutions().first.eval(), (_image(),))
    manager = to_edge_transform_and_lower(exported, partitioner=XnnpackPartitioner())
    program = manager.to_executorch()
    returned = program.edge_graph().graph.output_node().args[0][0]  # type: ignore[index, union-attr]
    names = program.instruction_nodes()
    assert program.memory_plan().steps[-1] == CLONE
    assert names[-1] == returned.name  # type: ignore[union-attr]
    assert names[0] != names[-1]
