"""What users hand to every door of the workbench, checked in one place: a model and its inputs."""

from collections.abc import Iterable
from typing import Any

import torch
from torch.export import ExportedProgram
from torch.utils import _pytree

from etlab.errors import InvalidArgumentError


def check_model(model: Any, who: str) -> torch.nn.Module:
    """`model` if it can be exported.

    Args:
        model: what the user gave.
        who: the function or view that was called, for the message.

    Raises:
        InvalidArgumentError: it is no module.
    """
    if isinstance(model, torch.nn.Module):
        return model
    if isinstance(model, type) and issubclass(model, torch.nn.Module):
        raise InvalidArgumentError(
            f"{who}: expected a torch.nn.Module, got the class {model.__name__} itself; make one:"
            f" {model.__name__}(…)"
        )
    raise InvalidArgumentError(
        f"{who}: expected a torch.nn.Module as the model, got {_describe(model)}; wrap a function"
        " in a module whose forward calls it"
    )


def as_arguments(inputs: Any, who: str) -> tuple[Any, ...]:
    """The positional arguments of one call: a tuple as it is, anything else as the only argument.

    Raises:
        InvalidArgumentError: None, which says nothing of what the model takes.
    """
    if inputs is None:
        raise InvalidArgumentError(
            f"{who}: expected example inputs (a tensor, or a tuple of positional arguments), got"
            " None; give () for a model without inputs and (None,) for one that takes a None"
        )
    return inputs if isinstance(inputs, tuple) else (inputs,)


def as_names(given: Any, who: str) -> list[str]:
    """Names that were asked for; one alone is a list of one.

    >>> as_names("native", "parity: paths"), as_names(("native", "eager"), "parity: paths")
    (['native'], ['native', 'eager'])

    Args:
        given: a name, or several.
        who: function and argument, for the message.

    Raises:
        InvalidArgumentError: something else, or no name at all.
    """
    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    if not names or not all(isinstance(name, str) for name in names):
        raise InvalidArgumentError(f"{who}: expected one name or more, got {_describe(given)}")
    return names


def check_sample(
    exported: ExportedProgram, sample: tuple[Any, ...], who: str, *, with_sizes: bool = True
) -> None:
    """Refuse a sample that an exported program cannot take; nested otherwise, it is let through.

    Args:
        exported: what `torch.export` made of the model.
        sample: positional arguments of one call.
        who: what the sample was given to, for the message.
        with_sizes: whether the sizes must be those of the export; else the ranks alone.

    Raises:
        InvalidArgumentError: another number of inputs, no tensor where one is expected, another
            dtype or shape.
    """
    leaves, nesting = _pytree.tree_flatten((sample, {}))
    expected = exported.call_spec.in_spec
    if expected is not None and expected.num_leaves != len(leaves):
        noun = "input" if expected.num_leaves == 1 else "inputs"
        raise InvalidArgumentError(
            f"{who}: expected {expected.num_leaves} {noun} as at export, got {len(leaves)}"
        )
    if expected is not None and expected != nesting:
        _check_kinds(expected, nesting, sample, who)
        return
    examples = {node.name: node.meta.get("val") for node in exported.graph.nodes}
    names = [spec.arg.name for spec in exported.graph_signature.input_specs if _is_users(spec)]
    for index, (name, value) in enumerate(zip(names, leaves, strict=False)):
        example = examples.get(name)
        if isinstance(example, torch.Tensor):
            where = f"{who}: input {index} ({name})"
            _check_tensor(example, value, where, exported.range_constraints if with_sizes else None)


def _check_kinds(expected: Any, nesting: Any, sample: tuple[Any, ...], who: str) -> None:
    """Refuse a list where one value is expected, or one value instead of a list."""
    pairs = zip(expected.children()[0].children(), nesting.children()[0].children(), strict=False)
    for index, (wanted, found) in enumerate(pairs):
        if wanted.is_leaf() != found.is_leaf():
            kind = "one value" if wanted.is_leaf() else f"a {wanted.type.__name__}"
            raise InvalidArgumentError(
                f"{who}: argument {index}: expected {kind} as at export, got"
                f" {_describe(sample[index])}; several samples are a list of tuples"
            )


def _is_users(spec: Any) -> bool:
    return spec.kind is torch.export.graph_signature.InputKind.USER_INPUT


def _check_tensor(example: torch.Tensor, value: Any, where: str, ranges: Any) -> None:
    if not isinstance(value, torch.Tensor):
        raise InvalidArgumentError(f"{where}: expected a Tensor, got {_describe(value)}")
    if value.dtype != example.dtype:
        raise InvalidArgumentError(f"{where}: expected {example.dtype}, got {value.dtype}")
    if value.dim() != example.dim():
        raise InvalidArgumentError(
            f"{where}: expected {example.dim()} dimensions, got {value.dim()}"
        )
    if ranges is None:
        return
    for dimension, (size, expected) in enumerate(zip(value.shape, example.shape, strict=True)):
        text = str(expected)
        if isinstance(expected, torch.SymInt):
            bound = ranges.get(expected.node.expr)
            if bound is None or bound.lower <= size <= bound.upper:
                continue
            text = f"{bound.lower}..{bound.upper}"
        elif size == expected:
            continue
        raise InvalidArgumentError(
            f"{where}, dimension {dimension}: expected {text}, got {size}; the sizes are those of"
            " the export"
        )


def _describe(value: Any) -> str:
    text = repr(value)
    kind = type(value).__name__
    return f"{kind} {text}" if len(text) <= 40 and "\n" not in text else kind
