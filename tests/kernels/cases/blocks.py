"""Linear layers whose 4-bit weights lie in blocks, with a scale and a least value for each."""

import torch

from etlab.llm.blocks import linear_blocks
from kernels.case import Case, Refusal, make_tensor

LINEAR_BLOCKS = (
    "etlab::linear_blocks.out(Tensor input, Tensor steps, Tensor scales, Tensor least, *,"
    " Tensor(a!) out) -> Tensor(a!)"
)


def weight(rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    steps = make_tensor(rows, columns // 2, dtype=torch.uint8, high=256)
    scales = make_tensor(rows, columns // 32, low=0.001, high=0.2).half()
    return steps, scales, make_tensor(rows, columns // 32, low=-1, high=0, seed=1).half()


def case(*sizes: int, rows: int = 7) -> Case:
    return Case(
        LINEAR_BLOCKS,
        (make_tensor(*sizes, low=-2, high=2), *weight(rows, sizes[-1])),
        reference=linear_blocks,
    )


CASES = [
    case(3, 64),
    case(1, 1, 96),
    case(2, 3, 32, rows=33),
    case(32, rows=5),
    case(0, 64),
    case(5, 320, rows=260),
]

OUT = (torch.empty(3, 7),)
REFUSALS = [
    Refusal(
        LINEAR_BLOCKS,
        (make_tensor(3, 48), *weight(7, 64)),
        "steps of 48 columns in blocks of 32",
        outputs=OUT,
    ),
    Refusal(
        LINEAR_BLOCKS,
        (make_tensor(3, 64), weight(7, 64)[0], *weight(6, 64)[1:]),
        "scales",
        outputs=OUT,
    ),
]
