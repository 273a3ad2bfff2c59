"""Templates in a walk: found or recorded, then pasted step by step."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._ops import OpOverload

from etlab.errors import LoweringError
from etlab.exir.decompose.templates import (
    CannotDecomposeError,
    Constant,
    Input,
    Result,
    Symbol,
    Template,
    TensorSpec,
    map_leaves,
    record,
    shared_templates,
)

if TYPE_CHECKING:
    from etlab.exir.decompose.walk import Walk


Target = OpOverload | Callable[..., Any]


def paste(walk: "Walk", target: Target, args: Any, kwargs: Any, val: Any) -> Any:
    """Take one call apart, with the template of an equal call if there was one.

    `target` may also be a function of tensors, which stands for its steps.
    """
    call = _Call(target, args, kwargs)
    # A template with symbolic sizes belongs to this program; so does one that spares operators.
    is_local = call.is_symbolic or bool(walk.shared.keep)
    cache = walk.shared.templates if is_local else shared_templates()
    template = cache.get(call.key)
    if template is None:
        try:
            template = _record(walk, target, args, kwargs)
        except CannotDecomposeError as missing:
            return walk.refuse(missing.operator, args, kwargs, val)
        cache[call.key] = template
    return _run(walk, template, call.inputs, val)


class _Call:
    """What tells one call from another: operator, sizes and dtypes of tensors, all the rest.

    Attributes:
        inputs: the tensors among the arguments, in order.
        key: equal for calls that have the same decomposition.
        is_symbolic: a size is a symbol.
    """

    def __init__(self, target: Target, args: Any, kwargs: Any) -> None:
        self.inputs: list[fx.Node] = []
        self.is_symbolic = False
        self._parts: list[Any] = [target, torch.get_default_dtype()]
        self._structure(args)
        for name, value in sorted(kwargs.items()):
            self._parts.append(name)
            self._structure(value)
        self.key = tuple(self._parts)

    def _structure(self, value: Any) -> None:
        if isinstance(value, list | tuple):
            self._parts.append(len(value))
            for item in value:
                self._structure(item)
        elif isinstance(value, fx.Node):
            self._node(value)
        else:
            self._parts.append((type(value), value))

    def _node(self, node: fx.Node) -> None:
        value = node.meta["val"]
        if not isinstance(value, torch.Tensor):
            self.is_symbolic = True
            self._parts.append(str(value))
            return
        self.inputs.append(node)
        shape: Any = tuple(value.shape)
        if value._has_symbolic_sizes_strides:
            self.is_symbolic = True
            shape = tuple(str(size) for size in shape)
        self._parts.append((shape, value.dtype))


def _record(walk: "Walk", target: Target, args: Any, kwargs: Any) -> Template:
    inputs: list[Any] = []

    def stand_in(leaf: Any) -> Any:
        if not isinstance(leaf, fx.Node):
            return leaf
        value = leaf.meta["val"]
        if isinstance(value, torch.Tensor):
            value = walk.fake(value.shape, value.dtype)
            inputs.append(value)
        return value

    fake_args = map_leaves(stand_in, tuple(args))
    fake_kwargs = {name: map_leaves(stand_in, kwargs[name]) for name in sorted(kwargs)}
    shared = walk.shared
    keep = frozenset(shared.keep) - {target}
    before = _fixed_sizes(shared.mode)
    template = record(target, fake_args, fake_kwargs, inputs, shared.mode, keep)
    fixed = _fixed_sizes(shared.mode) - before
    if fixed:
        raise LoweringError(
            f"{target}: its decomposition holds for one size only of the dynamic size "
            f"{', '.join(sorted(fixed))}; export with this dimension static, or rewrite the line"
        )
    return template


def _fixed_sizes(mode: Any) -> set[str]:
    """The dynamic sizes that are known to be one number."""
    environment = mode.shape_env
    if environment is None:
        return set()
    return {str(symbol) for symbol, value in environment.replacements.items() if value.is_number}


def _run(walk: "Walk", template: Template, inputs: list[fx.Node], val: Any) -> Any:
    results: list[Any] = []

    def resolve(leaf: Any) -> Any:
        if isinstance(leaf, Input):
            return inputs[leaf.index]
        if isinstance(leaf, Result):
            made = results[leaf.step]
            if leaf.item is None:
                return made
            return made[leaf.item] if isinstance(made, tuple) else walk.item(made, leaf.item)
        if isinstance(leaf, Symbol):
            return walk.symbols.argument(leaf.value)
        if isinstance(leaf, Constant):
            return walk.constant(leaf.tensor)
        return leaf

    def meta(leaf: Any) -> Any:
        return walk.fake(leaf.shape, leaf.dtype) if isinstance(leaf, TensorSpec) else leaf

    last = len(template.steps) - 1
    for index, step in enumerate(template.steps):
        is_result = index == last and template.output == Result(last, None)
        known = val if is_result and val is not None else map_leaves(meta, step.result)
        args, kwargs = map_leaves(resolve, step.args), map_leaves(resolve, step.kwargs)
        results.append(walk.lower(step.operator, args, kwargs, known))
    output = map_leaves(resolve, template.output)
    return tuple(output) if isinstance(output, list) else output
