"""Decompositions recorded as templates: run once on fake tensors, pasted from then on.

A template is the tape of one call: the operators it ran, with their arguments as references to the
call's inputs or to earlier steps. Calls with equal operator, argument sizes, dtypes and scalars
share one.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode
from torch.utils._python_dispatch import TorchDispatchMode

from etlab.errors import InternalError
from etlab.exir.decompose.operators import (
    decomposition_table,
    has_python_body,
    is_composite,
    is_write,
    returns_fresh,
)
from etlab.exir.decompose.plan import Kind, plan

SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


@dataclass(frozen=True, slots=True)
class Input:
    """The `index`-th tensor of the call."""

    index: int


@dataclass(frozen=True, slots=True)
class Result:
    """What step `step` returned, or item `item` of it."""

    step: int
    item: int | None


@dataclass(frozen=True, slots=True)
class Symbol:
    """A size that the caller has to make a node for."""

    value: Any


@dataclass(frozen=True, slots=True)
class Constant:
    """A real tensor that the decomposition made."""

    tensor: torch.Tensor


@dataclass(frozen=True, slots=True)
class TensorSpec:
    """Size and dtype of a result."""

    shape: tuple[Any, ...]
    dtype: torch.dtype


@dataclass(frozen=True, slots=True)
class Step:
    """One operator of a template; `result` mirrors its return with `TensorSpec` leaves."""

    operator: OpOverload
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    result: Any


@dataclass(frozen=True, slots=True)
class Template:
    """The steps of a decomposition and the references that make up its result."""

    steps: tuple[Step, ...]
    output: Any


class CannotDecomposeError(Exception):
    """A decomposition met an operator that nothing serves; carries that operator."""

    def __init__(self, operator: OpOverload) -> None:
        super().__init__(str(operator))
        self.operator = operator


def map_leaves(function: Any, value: Any) -> Any:
    """Apply `function` to everything in nested lists and tuples; lists stay lists."""
    if isinstance(value, list):
        return [map_leaves(function, item) for item in value]
    if isinstance(value, tuple):
        return tuple(map_leaves(function, item) for item in value)
    if isinstance(value, dict):
        return {key: map_leaves(function, item) for key, item in value.items()}
    return function(value)


class _Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's is untyped
    """Writes the tape, taking operators apart until each is one that the walk can bring over."""

    def __init__(self, inputs: list[FakeTensor], keep: frozenset[OpOverload]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch's is untyped
        self.keep = keep
        # References go by identity, so everything referred to has to stay alive.
        self.alive: list[Any] = list(inputs)
        self.references: dict[int, Input | Result] = {
            id(tensor): Input(index) for index, tensor in enumerate(inputs)
        }
        self.symbols: dict[str, Result] = {}
        self.steps: list[Step] = []

    def __torch_dispatch__(
        self, func: OpOverload, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        kind = Kind.KEEP if func in self.keep else plan(func)
        if kind is Kind.TEMPLATE:
            return self._take_apart(func, args, kwargs)
        if kind is Kind.UNSUPPORTED:
            raise CannotDecomposeError(func)
        result = func(*args, **kwargs)
        self._record(func, args, kwargs, result)
        return result

    def _take_apart(self, func: OpOverload, args: Any, kwargs: Any) -> Any:
        decomposition: Any = decomposition_table().get(func)
        if decomposition is None and func.namespace == "prims":
            decomposition = func.prim_impl_aten  # type: ignore[attr-defined]  # only prims have it
        elif decomposition is None and is_composite(func):
            decomposition = func.decompose
        elif decomposition is None and has_python_body(func):
            body = torch._C.DispatchKey.CompositeExplicitAutograd
            decomposition = functools.partial(func._op_dk, body)
        if decomposition is None:
            return func(*args, **kwargs)
        with self:
            result = decomposition(*args, **kwargs)
        if result is NotImplemented:
            raise CannotDecomposeError(func)
        return result

    def _record(self, func: OpOverload, args: Any, kwargs: Any, result: Any) -> None:
        step = len(self.steps)
        self.steps.append(
            Step(
                func,
                map_leaves(self.reference, args),
                map_leaves(self.reference, kwargs),
                map_leaves(_spec, result),
            )
        )
        if isinstance(result, list | tuple):
            for item, value in enumerate(result):
                self._name(value, Result(step, item))
        elif torch.Tag.inplace_view in func.tags:
            # The same tensor object stands for the changed view from here on.
            self.references[id(result)] = Result(step, None)
        elif not is_write(func) or returns_fresh(func):
            self._name(result, Result(step, None))

    def _name(self, value: Any, reference: Result) -> None:
        self.alive.append(value)
        if isinstance(value, torch.Tensor):
            self.references.setdefault(id(value), reference)
        elif isinstance(value, SYMBOLIC):
            self.symbols[str(value.node.expr)] = reference

    def reference(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            found = self.references.get(id(value))
            if found is not None:
                return found
            if isinstance(value, FakeTensor):
                raise InternalError("a decomposition used a fake tensor that no step made")
            self.alive.append(value)
            return Constant(value)
        if isinstance(value, SYMBOLIC):
            return self.symbols.get(str(value.node.expr)) or Symbol(value)
        return value


def _spec(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return TensorSpec(tuple(value.shape), value.dtype)
    return value


def _live_steps(steps: list[Step], output: Any) -> tuple[tuple[Step, ...], Any]:
    """Drop the steps that neither write nor lead to the output; renumber the references."""
    needed: set[int] = set()

    def visit(value: Any) -> Any:
        if isinstance(value, Result):
            needed.add(value.step)
        return value

    map_leaves(visit, output)
    for index in range(len(steps) - 1, -1, -1):
        if index in needed or is_write(steps[index].operator):
            needed.add(index)
            map_leaves(visit, steps[index].args)
            map_leaves(visit, steps[index].kwargs)
    number = {old: new for new, old in enumerate(sorted(needed))}

    def renumber(value: Any) -> Any:
        return Result(number[value.step], value.item) if isinstance(value, Result) else value

    kept = tuple(
        Step(
            step.operator,
            map_leaves(renumber, step.args),
            map_leaves(renumber, step.kwargs),
            step.result,
        )
        for step in (steps[index] for index in sorted(needed))
    )
    return kept, map_leaves(renumber, output)


def record(
    operator: Callable[..., Any],
    args: tuple[Any, ...],
    kwargs: dict[str, Any],
    inputs: list[FakeTensor],
    mode: FakeTensorMode,
    keep: frozenset[OpOverload] = frozenset(),
) -> Template:
    """Take one call apart.

    Args:
        operator: what is called: one whose plan is `Kind.TEMPLATE`, or a function of tensors.
        args: its arguments, the tensors among them from `inputs`, each input used once.
        kwargs: its keyword arguments, likewise.
        inputs: fresh fake tensors.
        mode: the fake mode of `inputs`.
        keep: operators not to take apart when they are met on the way.

    Raises:
        CannotDecomposeError: the decomposition needs an operator that nothing serves.
    """
    recorder = _Recorder(inputs, keep)
    # Below autograd a composite operator reaches the recorder whole.
    with torch.no_grad(), torch._C._AutoDispatchBelowAutograd(), mode, recorder:
        result = operator(*args, **kwargs)
    steps, output = _live_steps(recorder.steps, map_leaves(recorder.reference, result))
    return Template(steps, output)


@functools.cache
def shared_templates() -> dict[Any, Template]:
    """Templates of calls without symbolic sizes, for the life of the process."""
    return {}
