import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch.export import Dim

from etlab.errors import LoweringError
from etlab.exir.specs import Bounds, order_of_strides


@pytest.mark.parametrize(
    ("tensor", "order"),
    [
        (torch.zeros(2, 3, 4), (0, 1, 2)),
        (torch.zeros(2, 3, 4, 5).contiguous(memory_format=torch.channels_last), (0, 2, 3, 1)),
        (torch.zeros(2, 3, 4).permute(2, 0, 1), (1, 2, 0)),
        (torch.zeros(()), ()),
        (torch.zeros(0, 3), (0, 1)),
        (torch.zeros(1, 5, 1), (0, 1, 2)),
    ],
)
def test_order_of_dimensions_follows_the_strides(
    tensor: torch.Tensor, order: tuple[int, ...]
) -> None:
    assert order_of_strides(tensor.shape, tensor.stride()) == order


def test_size_in_bytes_counts_the_element_type() -> None:
    assert Bounds({}).spec_of(torch.zeros(3, 5, dtype=torch.float16), "x").nbytes == 30


def test_dynamic_sizes_take_their_upper_bound() -> None:
    program = lower(
        Function(lambda x: torch.cat([x, x]) + 1),
        seeded(3, 4),
        dynamic_shapes={"inputs": ({0: Dim("n", max=10)},)},
    )
    plan = program.memory_plan()
    assert {tensor.shape for tensor in plan.tensors} == {(10, 4), (20, 4)}


def test_a_size_without_bound_is_refused_with_the_way_out() -> None:
    with pytest.raises(LoweringError, match=r"no upper bound.*Dim\(\"name\", max=N\)"):
        lower(
            Function(lambda x: x + 1),
            seeded(3, 4),
            dynamic_shapes={"inputs": ({0: Dim("n")},)},
        )


def test_sparse_tensors_are_refused_in_words() -> None:
    with pytest.raises(LoweringError, match="dense tensors only"):
        Bounds({}).spec_of(torch.eye(3).to_sparse(), "x")
