"""Relations, truths and choices of the optimized library: special values, tails, broadcasts."""

import torch

from kernels.case import Case, make_tensor, specials

RELATIONS = ["eq", "ne", "lt", "le", "gt", "ge"]


def floats() -> list[torch.Tensor]:
    """Special values, tails, empty and 0-d."""
    return [
        specials(torch.float32),
        *(make_tensor(length) for length in (1, 17, 67)),
        make_tensor(2, 3, 7),
        make_tensor(0, 3),
        make_tensor(),
        torch.tensor([0.1, 0.1 + 2**-27, 16777216.0]),
    ]


def truths(*sizes: int, seed: int = 0) -> torch.Tensor:
    return make_tensor(*sizes, seed=seed) > 0


def rows_of_truths() -> list[torch.Tensor]:
    """No truth, one at the end of a long row, some."""
    lonely = torch.zeros(3, 131, dtype=torch.bool)
    lonely[1, 130] = True
    return [torch.zeros(2, 5, dtype=torch.bool), lonely, truths(2, 3, 7), truths(1, 1), truths(5)]


def choices() -> list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]]:
    """A truth for each element, for each row, for all; sides that repeat along other dimensions."""
    return [
        (truths(3, 37), make_tensor(3, 37, seed=1), make_tensor(3, 37, seed=2)),
        (truths(2, 19, 1), make_tensor(2, 19, 35, seed=1), make_tensor(2, 19, 35, seed=2)),
        (truths(4, 1), make_tensor(seed=1), make_tensor(4, 9, seed=2)),
        (truths(4, 9), make_tensor(9, seed=1), make_tensor(4, 1, seed=2)),
        (truths(9), make_tensor(4, 1, seed=1), make_tensor(1, 9, seed=2)),
        (truths(), make_tensor(3, 5, seed=1), make_tensor(5, seed=2)),
        (truths(5), make_tensor(seed=1), make_tensor(seed=2)),
        (truths(0, 3), make_tensor(3, seed=1), make_tensor(1, 3, seed=2)),
        (torch.tensor([True, False] * 3), torch.full((6,), float("nan")), make_tensor(6)),
    ]


FAST_CASES = [
    *(
        Case(f"aten::{relation}.Scalar_out", (x, number))
        for relation in RELATIONS
        for x in floats()
        for number in (0, 0.1, float("-inf"), float("nan"), 16777217, True)
    ),
    *(
        Case("aten::logical_not.out", (x,))
        for x in (truths(67), truths(2, 3), truths(0, 3), truths())
    ),
    *(
        Case("aten::any.out", (x, dim, keepdim))
        for x in rows_of_truths()
        for dim in (-1, x.dim() - 1)
        for keepdim in (False, True)
    ),
    *(Case("aten::where.self_out", choice) for choice in choices()),
]
