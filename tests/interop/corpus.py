"""The interop corpus: one program a call of the kernel tests' table, made without torch.export.

A case of `tests/kernels/cases` is a call of an out variant. Its functional twin becomes an edge
graph of one node, which the ordinary emission turns into a file; eager gives the expected outputs.
"""

import functools
import importlib
import operator as python_operator
import pkgutil
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from kernels import cases as case_files
from kernels.case import Case
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export.graph_signature import TensorArgument
from torch.utils import _pytree as pytree

from etlab.exir import official_operators
from etlab.exir.edge import EdgeGraph, InputKind, InputSpec, OutputKind, OutputSpec
from etlab.exir.executorch_program import ExecutorchBackendConfig, lower_to_executorch
from etlab.exir.ops import find_out_variant

# Kernels that a program reaches otherwise than by a call in the graph.
NOT_CALLED = frozenset({"aten::copy_", "aten::index_put_", "aten::_to_copy.out", "aten::clone.out"})


@dataclass(frozen=True, slots=True)
class Sample:
    """One call as a program.

    Attributes:
        operator: the out variant in the file.
        dtypes: of the tensors that go in.
        text: the case in words.
        program: the file.
        inputs: its inputs.
        expected: what eager computes.
    """

    operator: str
    dtypes: tuple[torch.dtype, ...]
    text: str
    program: bytes
    inputs: list[torch.Tensor]
    expected: list[torch.Tensor]


def _collect() -> dict[str, list[Case]]:
    """The cases of all files, by operator."""
    found: dict[str, list[Case]] = {}
    for module in pkgutil.iter_modules(case_files.__path__):
        cases = importlib.import_module(f"{case_files.__name__}.{module.name}")
        for case in getattr(cases, "CASES", ()):
            found.setdefault(case.operator_name, []).append(case)
    return dict(sorted(found.items()))


CASES = _collect()


@functools.cache
def functional_of(name: str) -> torch._ops.OpOverload | None:
    """The functional operator whose out variant is `name`, of the same family."""
    namespace, rest = name.split("::")
    packet = getattr(getattr(torch.ops, namespace), rest.split(".")[0], None)
    for overload in packet.overloads() if packet is not None else ():
        operator = getattr(packet, overload)
        if any(a.is_out or a.alias_info is not None for a in operator._schema.arguments):
            continue
        variant = find_out_variant(operator)
        if variant is not None and variant.full_name == name:
            return operator  # type: ignore[no-any-return]
    return None


def is_in_corpus(name: str) -> bool:
    """Whether programs can hold this kernel and the official runtime can run it."""
    return (
        name in official_operators.DEFAULT
        and name not in NOT_CALLED
        and functional_of(name) is not None
    )


def dtypes_of(case: Case) -> tuple[torch.dtype, ...]:
    """Element types of the tensors among a case's arguments."""
    leaves = pytree.tree_leaves((case.args, dict(case.kwargs)))
    return tuple(leaf.dtype for leaf in leaves if isinstance(leaf, torch.Tensor))


def representatives(cases: list[Case]) -> list[Case]:
    """One ordinary case for each combination of dtypes: not empty, small, of tame values."""
    best: dict[tuple[torch.dtype, ...], Case] = {}
    for case in sorted(cases, key=_oddness):
        best.setdefault(dtypes_of(case), case)
    return [_tamed(case) for case in best.values()]


def _tamed(case: Case) -> Case:
    """The case with values from -100 to 100 and no NaN."""

    def tame(leaf: Any) -> Any:
        if not isinstance(leaf, torch.Tensor) or leaf.dtype == torch.bool or leaf.is_complex():
            return leaf
        if not leaf.is_floating_point():
            return leaf.long().clamp(-100, 100).to(leaf.dtype)
        return leaf.nan_to_num(nan=0.5).clamp(-100, 100)

    args, kwargs = pytree.tree_map(tame, (case.args, dict(case.kwargs)))
    return replace(case, args=args, kwargs=kwargs)


def _oddness(case: Case) -> int:
    leaves = pytree.tree_leaves((case.args, dict(case.kwargs)))
    tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
    odd = 8 * sum(not t.isfinite().all() or not t.numel() for t in tensors)
    extreme = 4 * sum(bool(t.numel()) and _largest(t) > 1000 for t in tensors)
    return odd + extreme + sum(t.dim() == 0 or t.numel() > 1000 for t in tensors)


def _largest(tensor: torch.Tensor) -> float:
    return float((tensor if tensor.is_complex() else tensor.double()).abs().max())


def judged_cases(name: str, *, complete: bool = False) -> list[Case]:
    """The cases that become programs: one a combination of dtypes, or all."""
    cases = [c for c in CASES.get(name, ()) if c.out_dtype is None and "(" not in c.operator]
    return cases if complete else representatives(cases)


def cases_by_dtype(name: str) -> list[Case]:
    """One case for each dtype of the first tensor."""
    cases = reversed(judged_cases(name))
    return list({dtypes_of(case)[:1]: case for case in cases}.values())


def samples(name: str, *, complete: bool = False) -> Iterator[Sample]:
    """The programs of one operator: one a combination of dtypes, or all that eager can judge."""
    operator = functional_of(name)
    assert operator is not None
    cases = [
        case for case in CASES.get(name, ()) if case.out_dtype is None and "(" not in case.operator
    ]
    for case in cases if complete else representatives(cases):
        sample = make_sample(operator, case)
        if sample is not None:
            yield sample


class OneCall(torch.nn.Module):
    """One operator call whose tensors are the module's inputs."""

    def __init__(
        self, operator: torch._ops.OpOverload, leaves: list[Any], tree: pytree.TreeSpec
    ) -> None:
        super().__init__()
        self.operator, self.leaves, self.tree = operator, leaves, tree

    def forward(self, *tensors: torch.Tensor) -> Any:
        given = iter(tensors)
        leaves = [next(given) if isinstance(x, torch.Tensor) else x for x in self.leaves]
        args, kwargs = pytree.tree_unflatten(leaves, self.tree)
        return self.operator(*args, **kwargs)


def one_call_module(
    operator: torch._ops.OpOverload, case: Case
) -> tuple[OneCall, list[torch.Tensor]]:
    """A case as a module, and its inputs."""
    leaves, tree = pytree.tree_flatten((case.args, dict(case.kwargs)))
    plain = [leaf.contiguous() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    inputs = [leaf for leaf in plain if isinstance(leaf, torch.Tensor)]
    return OneCall(operator, plain, tree), inputs


def make_sample(operator: torch._ops.OpOverload, case: Case) -> Sample | None:
    """A case as a program; None when eager has no answer for it."""
    leaves, tree = pytree.tree_flatten((case.args, dict(case.kwargs)))
    plain = [leaf.contiguous() if isinstance(leaf, torch.Tensor) else leaf for leaf in leaves]
    args, kwargs = pytree.tree_unflatten(plain, tree)
    try:
        result = operator(*args, **kwargs)
    except (RuntimeError, IndexError):
        return None
    judged = case.reference(*args, **kwargs) if case.reference else result
    expected = [item.contiguous() for item in pytree.tree_leaves(judged)]
    graph = single_call_graph(operator, plain, tree, result)
    config = ExecutorchBackendConfig(remove_view_copy=False)
    with warnings.catch_warnings():
        # Which complex numbers the official kernels refuse, the corpus itself finds out.
        warnings.filterwarnings("ignore", "method 'forward': the official runtime's kernel")
        manager = lower_to_executorch({"forward": graph}, config=config)
    inputs = [leaf for leaf in plain if isinstance(leaf, torch.Tensor)]
    return Sample(case.operator_name, dtypes_of(case), str(case), manager.buffer, inputs, expected)


def single_call_graph(
    operator: torch._ops.OpOverload, leaves: list[Any], tree: pytree.TreeSpec, result: Any
) -> EdgeGraph:
    """An edge graph of one call; every tensor among its arguments is an input."""
    mode = FakeTensorMode()
    graph = fx.Graph()
    specs: list[InputSpec] = []
    arguments: list[Any] = []
    for leaf in leaves:
        if isinstance(leaf, torch.Tensor):
            node = graph.placeholder(f"input_{len(specs)}")
            node.meta["val"] = mode.from_tensor(leaf)
            specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(node.name), None))
            leaf = node
        arguments.append(leaf)
    args, kwargs = pytree.tree_unflatten(arguments, tree)
    call = graph.call_function(operator, args, kwargs)
    call.meta["val"] = pytree.tree_map(lambda item: mode.from_tensor(item.contiguous()), result)
    outputs = [call]
    if isinstance(result, tuple | list):
        outputs = [
            graph.call_function(python_operator.getitem, (call, i)) for i in range(len(result))
        ]
        for node, item in zip(outputs, call.meta["val"], strict=True):
            node.meta["val"] = item
    graph.output(tuple(outputs))
    output_specs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in outputs
    ]
    return EdgeGraph("forward", graph, specs, output_specs, {}, {}, None, None)
