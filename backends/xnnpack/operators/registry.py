"""How a file in this folder says what it translates, and how the files are found."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any

import torch
from torch import fx
from torch._ops import OpOverload

from etlab.errors import EtlabError

if TYPE_CHECKING:
    from etlab.backends.xnnpack.quantized import Plan
    from etlab.backends.xnnpack.translate import Translation


@dataclass(frozen=True, slots=True)
class Context:
    """What a rule may ask about the program around a node.

    Attributes:
        plan: what runs quantized.
        constants: the tensor of every placeholder that never changes.
        weights_at_run_time: take the weights of float32 linear layers as inputs.
        bf16: take linear layers in bfloat16.
    """

    plan: "Plan"
    constants: Mapping[fx.Node, torch.Tensor] = field(default_factory=dict)
    weights_at_run_time: bool = False
    bf16: bool = False

    def is_constant(self, node: Any) -> bool:
        """Whether an argument is a constant tensor, or absent."""
        return node is None or node in self.constants or node in self.plan.weights


WhyNot = Callable[[fx.Node, Context], str | None]
Translate = Callable[["Translation", fx.Node], Any]


@dataclass(frozen=True, slots=True)
class Rule:
    """How one operator is translated.

    Attributes:
        translate: adds the steps of a node; returns its tensor, or a tuple for several results.
        why_not: the reason why a node of the operator is not taken, in words; None when it is.
        moves_only: the operator computes nothing.
        is_kept: the operator is to be left whole by the decomposition.
        checks_tensors: dtypes and sizes are to be those of floating-point operators.
        where: the module of the rule.
    """

    translate: Translate
    why_not: WhyNot
    moves_only: bool
    is_kept: bool
    checks_tensors: bool
    where: str


_rules: dict[str, Rule] = {}


def _accept(node: fx.Node, context: Context) -> None:
    return None


def rule(
    *targets: OpOverload | str,
    why_not: WhyNot = _accept,
    moves_only: bool = False,
    is_kept: bool = False,
    checks_tensors: bool = True,
) -> Callable[[Translate], Translate]:
    """Register a function as the rule of some operators; by name if torch may lack them."""

    def register(translate: Translate) -> Translate:
        module = translate.__module__
        for target in map(str, targets):
            if target in _rules:
                raise EtlabError(
                    f"XNNPACK: {target} has two rules, in {_rules[target].where} and {module}"
                )
            _rules[target] = Rule(translate, why_not, moves_only, is_kept, checks_tensors, module)
        return translate

    return register


@cache
def all_rules() -> Mapping[str, Rule]:
    """The rules of all files in this folder, by the operator's name."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{__package__}.{module.name}")
    return _rules


def argument(node: fx.Node, index: int, name: str, default: Any = None) -> Any:
    """An argument of a call, wherever it stands."""
    if len(node.args) > index:
        return node.args[index]
    return node.kwargs.get(name, default)


def overload(name: str) -> OpOverload | None:
    """An operator by its name; None when nobody has registered it."""
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
        if found is None:
            return None
    return found if isinstance(found, OpOverload) else None


def is_zero_padding(node: Any, spatial: int) -> bool:
    """Whether a node pads with zeros, in its last `spatial` dimensions only."""
    if not isinstance(node, fx.Node) or node.target is not torch.ops.aten.constant_pad_nd.default:
        return False
    amounts: Any = node.args[1]
    value = node.args[2] if len(node.args) > 2 else node.kwargs.get("value", 0)
    if value != 0 or not all(isinstance(a, int) and a >= 0 for a in amounts):
        return False
    return not any(amounts[2 * spatial :])
