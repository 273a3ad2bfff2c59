import pytest
import torch

from etlab.runtime import _native, scalar_type_of


def _tensor(tensor: torch.Tensor) -> tuple[int, int, list[int], list[int]]:
    number = scalar_type_of(tensor.dtype)
    return tensor.data_ptr(), number, list(tensor.shape), list(tensor.stride())


@pytest.mark.parametrize(
    ("size", "expected"), [([2, 6], [2, 6]), ([-1, 4], [3, 4]), ([12, -1], [12, 1])]
)
def test_view_takes_sizes_within_its_rank(size: list[int], expected: list[int]) -> None:
    source, view = torch.arange(12.0).reshape(3, 4), torch.zeros(3, 4)
    sizes, _ = _native.run_kernel(
        "executorch_prim::et_view.default", [_tensor(source), ("ints", size), _tensor(view)]
    )
    assert sizes[-1] == expected
    assert torch.equal(view, torch.zeros(3, 4))  # its former memory is left alone
