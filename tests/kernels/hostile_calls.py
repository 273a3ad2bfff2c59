"""Calls every kernel with arguments that no compiler would emit: hostile_calls.py [SEED] [ROUNDS].

A call is one of the cases with some arguments and outputs replaced. It must end in a typed error or
a result, write nothing outside of its outputs, and not end the process. The last line printed is
the call that was running.
"""

import random
import sys
from collections.abc import Sequence
from typing import Any

import torch

from etlab.errors import EtlabError, InternalError
from etlab.testing import KernelOperator, run_kernel
from etlab.testing_guards import GuardedOutput
from kernels.case import ALL, Case, collect, make_tensor

INTEGERS = (0, 1, -1, 2, 3, 7, -7, 100, 2**31, -(2**31), 2**62, 2**63 - 1, -(2**63))
FLOATS = (0.0, -0.0, 1.0, -2.5, 1e-300, 1e300, float("nan"), float("inf"), -float("inf"))
SHAPES = ((), (0,), (1,), (3,), (2, 3), (3, 2), (1, 0, 4), (2, 3, 4), (1, 2, 3, 4), (2,) * 6)


def _hostile_tensor(generator: random.Random) -> torch.Tensor:
    shape = generator.choice(SHAPES)
    tensor = make_tensor(*shape, dtype=generator.choice(ALL), seed=generator.randrange(100))
    if len(shape) > 1 and generator.random() < 0.3:
        return tensor.transpose(0, 1)
    return tensor


def _mutate(generator: random.Random, value: Any) -> Any:
    """Something of the same kind as `value`, so that the kernel's own checks have to notice."""
    if isinstance(value, torch.Tensor):
        if generator.random() < 0.3 and not value.is_floating_point() and value.numel():
            extremes = [generator.choice(INTEGERS) for _ in range(value.numel())]
            return torch.tensor(extremes).reshape(value.shape).to(value.dtype)
        return _hostile_tensor(generator)
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return generator.choice(INTEGERS)
    if isinstance(value, float):
        return generator.choice(FLOATS)
    if isinstance(value, str):
        return generator.choice(("", "none", "x" * 99))
    if isinstance(value, list | tuple):
        items = [_mutate(generator, v) if generator.random() < 0.4 else v for v in value]
        if generator.random() < 0.3:
            items = items[: generator.randrange(len(items) + 1)] + items[:1]
        return items
    return value


def _outputs(generator: random.Random, count: int, expected: Sequence[torch.Tensor]) -> list[Any]:
    outputs = []
    for index in range(count):
        like = _hostile_tensor(generator)
        if index < len(expected) and generator.random() < 0.7:
            like = expected[index]
        outputs.append(GuardedOutput(like, follow_strides=False, is_bound=False))
    return outputs


def _expected(operator: KernelOperator, case: Case) -> list[torch.Tensor]:
    if case.reference is not None:
        result = case.reference(*case.args, **case.kwargs)
    else:
        result = operator.eager(case.args, case.kwargs)
    return list(result) if isinstance(result, list | tuple) else [result]


def _call(generator: random.Random, case: Case) -> bool:
    """Whether the kernel took the arguments."""
    operator = KernelOperator.resolve(case.operator)
    writes = not operator.returns_number and operator.mutated_positions
    expected = [] if operator.returns_number or writes else _expected(operator, case)
    likelihood = generator.choice((0.0, 0.3, 0.6))
    args = [_mutate(generator, a) if generator.random() < likelihood else a for a in case.args]
    if writes:
        args = [arg.clone() if isinstance(arg, torch.Tensor) else arg for arg in args]
    kwargs = {
        name: _mutate(generator, value) if generator.random() < likelihood else value
        for name, value in case.kwargs.items()
    }
    count = max(len(operator.out_arguments), len(expected)) if operator.out_arguments else 0
    outputs = _outputs(generator, count, expected)
    shown = Case(case.operator, tuple(args), kwargs)
    print(shown, "->", [list(output.tensor.shape) for output in outputs], flush=True)
    try:
        run_kernel(case.operator, *args, outputs=[o.tensor for o in outputs], **kwargs)
    except InternalError:
        raise
    except EtlabError:
        taken = False
    else:
        taken = True
    for output in outputs:
        output.check_guards(str(shown))
    return taken


def main(seed: int = 0, rounds: int = 8) -> None:
    generator = random.Random(seed)
    torch.set_num_threads(1)
    taken = refused = 0
    for cases in collect("CASES").values():
        for _ in range(rounds):
            if _call(generator, generator.choice(cases)):
                taken += 1
            else:
                refused += 1
    print(f"{taken} calls taken, {refused} refused")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
