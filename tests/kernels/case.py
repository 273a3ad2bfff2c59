"""What the case files of the kernel tests are written in.

A case file is a list:

    CASES = [
        *for_dtypes("aten::relu.out", ALL, lambda dtype: (specials(dtype),)),
        Case("aten::add.out", (make_tensor(3, 5), make_tensor(5)), {"alpha": 2}),
    ]
    REFUSALS = [Refusal("aten::tan.out", (make_tensor(3),), outputs=(empty(4),), match="size")]
"""

import functools
import importlib
import pkgutil
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

import torch

from etlab.errors import EtlabError
from etlab.testing import KernelOperator

INTEGERS = (torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
FLOATS = (torch.float16, torch.bfloat16, torch.float32, torch.float64)
REAL = (*INTEGERS, *FLOATS)
ALL = (torch.bool, *REAL)


@dataclass(frozen=True, slots=True)
class Case:
    """One call that must agree with eager; see `etlab.testing.check_kernel`.

    `operator` is a name ("aten::add.out"), or a full schema with a `reference` where torch lacks
    the operator.
    """

    operator: str
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    reference: Callable[..., Any] | None = None
    out_dtype: torch.dtype | None = None

    @property
    def operator_name(self) -> str:
        return self.operator.partition("(")[0]

    def expected(self) -> tuple[torch.Tensor, ...]:
        """What the judge computes."""
        if self.reference is not None:
            result = self.reference(*self.args, **self.kwargs)
        else:
            result = KernelOperator.resolve(self.operator).eager(self.args, self.kwargs)
        return tuple(result) if isinstance(result, tuple | list) else (result,)

    def __str__(self) -> str:
        parts = [_show(arg) for arg in self.args]
        parts += [f"{name}={_show(value)}" for name, value in self.kwargs.items()]
        if self.out_dtype is not None:
            parts.append(f"out={self.out_dtype}")
        return f"{self.operator_name}({', '.join(parts)})"


@dataclass(frozen=True, slots=True)
class Refusal:
    """One call that must be refused with a message matching `match` (a regular expression)."""

    operator: str
    args: tuple[Any, ...]
    match: str
    kwargs: Mapping[str, Any] = field(default_factory=dict)
    outputs: tuple[torch.Tensor, ...] = ()
    error: type[Exception] = EtlabError

    operator_name = Case.operator_name


def collect(attribute: str) -> dict[str, list[Any]]:
    """The "CASES" or "REFUSALS" of every file in cases/, by operator."""
    from kernels import cases as case_files

    found: list[Any] = []
    for module in pkgutil.iter_modules(case_files.__path__):
        cases = importlib.import_module(f"{case_files.__name__}.{module.name}")
        found += getattr(cases, attribute, [])
    found.sort(key=lambda case: case.operator_name)
    return {name: list(group) for name, group in groupby(found, lambda case: case.operator_name)}


def _show(value: Any) -> str:
    if isinstance(value, torch.Tensor):
        layout = "" if value.is_contiguous() else f" strides {list(value.stride())}"
        return f"{str(value.dtype).removeprefix('torch.')}{list(value.shape)}{layout}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(_show(item) for item in value)}]"
    return repr(value)


def for_dtypes(
    operator: str,
    dtypes: Iterable[torch.dtype],
    make_arguments: Callable[[torch.dtype], tuple[Any, ...]],
    **fields: Any,
) -> list[Case]:
    """One case a dtype: `make_arguments(dtype)` gives its arguments."""
    return [Case(operator, make_arguments(dtype), **fields) for dtype in dtypes]


def make_tensor(
    *shape: int,
    dtype: torch.dtype = torch.float32,
    low: float = -9,
    high: float = 9,
    seed: int = 0,
) -> torch.Tensor:
    """Seeded values in [low, high), from 0 where the dtype has no sign; bool is a fair coin."""
    generator = torch.Generator().manual_seed(seed + 7919 * len(shape) + sum(shape))
    if dtype == torch.bool:
        return torch.randint(0, 2, shape, generator=generator).bool()
    if dtype == torch.uint8:
        low = max(low, 0)
    uniform = torch.rand(shape, generator=generator, dtype=torch.float64)
    values = uniform * (high - low) + low
    return values.to(dtype) if dtype.is_floating_point else values.floor().to(dtype)


@functools.cache
def specials(dtype: torch.dtype) -> torch.Tensor:
    """The values that kernels get wrong, as a vector: NaN, infinities, zeros, ties, extremes."""
    if dtype == torch.bool:
        return torch.tensor([True, False, True])
    if not dtype.is_floating_point:
        limits = torch.iinfo(dtype)
        small = [value for value in range(-4, 5) if value >= limits.min]
        extremes = [limits.min, limits.min + 1, limits.max - 1, limits.max]
        return torch.tensor([*small, *extremes], dtype=dtype)
    limits = torch.finfo(dtype)
    nan, inf = float("nan"), float("inf")
    ties = [value + 0.5 for value in range(-4, 4)]
    plain = [-0.0, 0.0, 1.0, -1.0, 0.25, -0.75, 3.0, -7.0, 20.0, -20.0, 88.0, -88.0]
    extremes = [limits.max, limits.min, limits.tiny, -limits.tiny, limits.eps]
    return torch.tensor([nan, inf, -inf, *plain, *ties, *extremes], dtype=dtype)


def special_pairs(dtype: torch.dtype) -> tuple[torch.Tensor, torch.Tensor]:
    """All pairs of special values, as two tensors that broadcast against each other."""
    values = specials(dtype)
    return values.reshape(-1, 1), values


def layouts(dtype: torch.dtype = torch.float32) -> list[torch.Tensor]:
    """Tensors of every layout: 0-d, empty, permuted, channels-last, sliced, expanded, rank 7."""
    image = make_tensor(2, 3, 5, 7, dtype=dtype)
    return [
        make_tensor(dtype=dtype),
        make_tensor(0, dtype=dtype),
        make_tensor(3, 0, 2, dtype=dtype),
        make_tensor(1, dtype=dtype),
        make_tensor(1, 5, 1, dtype=dtype),
        make_tensor(3, 5, 7, dtype=dtype).permute(2, 0, 1),
        make_tensor(3, 5, 7, dtype=dtype).transpose(0, 2),
        image.contiguous(memory_format=torch.channels_last),
        make_tensor(7, 9, dtype=dtype)[1:, ::2],
        make_tensor(5, 1, dtype=dtype).expand(5, 3),
        make_tensor(2, 1, 3, 1, 2, 1, 2, dtype=dtype),
    ]


def broadcasts(dtype: torch.dtype = torch.float32) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """Pairs of tensors of `dtype` that broadcast in every way, some of them not contiguous."""
    image = make_tensor(2, 3, 5, 7, dtype=dtype, seed=1)
    channels_last = image.contiguous(memory_format=torch.channels_last)
    return [
        (make_tensor(3, 5, dtype=dtype), make_tensor(3, 5, dtype=dtype, seed=1)),
        (make_tensor(3, 5, dtype=dtype), make_tensor(5, dtype=dtype)),
        (make_tensor(3, 1, dtype=dtype), make_tensor(1, 5, dtype=dtype)),
        (make_tensor(dtype=dtype), make_tensor(3, 2, dtype=dtype)),
        (make_tensor(3, 2, dtype=dtype), make_tensor(dtype=dtype)),
        (make_tensor(dtype=dtype), make_tensor(dtype=dtype, seed=1)),
        (make_tensor(0, 3, dtype=dtype), make_tensor(1, dtype=dtype)),
        (make_tensor(1, 3, dtype=dtype), make_tensor(0, 1, dtype=dtype)),
        (image, make_tensor(3, 1, 1, dtype=dtype)),
        (channels_last, make_tensor(1, 3, 1, 1, dtype=dtype)),
        (channels_last, image),
        (channels_last, channels_last.flip(0).contiguous(memory_format=torch.channels_last)),
        (make_tensor(5, 3, dtype=dtype).t(), make_tensor(3, 5, dtype=dtype)),
        (make_tensor(6, 8, dtype=dtype)[::2, 1:], make_tensor(3, 1, dtype=dtype)),
    ]
