import torch
from exir.lowering import Function, lower, seeded

CONVERT = "dim_order_ops::_to_dim_order_copy.out"


def test_joined_tensors_get_the_dtype_of_the_result() -> None:
    indices = torch.tensor([[1, 2]])
    program = lower(Function(lambda x, i: torch.cat([x, i, i])), seeded(3, 2), indices)
    assert program.memory_plan().steps == (CONVERT, "aten::cat.out")


def test_indices_become_int64() -> None:
    index = torch.tensor([[1, 0]], dtype=torch.int32)
    program = lower(Function(lambda x, i: x.gather(1, i)), seeded(3, 2), index)
    assert program.memory_plan().steps == (CONVERT, "aten::gather.out")


def test_a_boolean_plus_a_number_is_computed_in_the_dtype_of_the_result() -> None:
    program = lower(Function(lambda x: (x > 0) + 3), seeded(3))
    assert program.memory_plan().steps[1:] == (CONVERT, "aten::add.Scalar_out")


def test_equal_dtypes_need_nothing() -> None:
    program = lower(Function(lambda x: torch.cat([x, x])), seeded(3, 2))
    assert program.memory_plan().steps == ("aten::cat.out",)
