"""How a file in this folder says what it lowers, and how the files are found."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from torch._ops import OpOverload

from etlab.backends.arm.quantized import Operation
from etlab.errors import EtlabError

if TYPE_CHECKING:
    from etlab.backends.arm.lowering import Lowering, Value

Lower = Callable[["Lowering", Operation], "Value"]
WhyNot = Callable[[Operation], str | None]


@dataclass(frozen=True, slots=True)
class Rule:
    """How one operator is lowered.

    Attributes:
        lower: adds what an operation needs; returns its result, integers of the result's scale.
        why_not: the reason why an operation is not taken, in words; None when it is.
        moves_only: the operator computes nothing.
        is_kept: the operator is to be left whole by the decomposition.
        where: the module of the rule.
    """

    lower: Lower
    why_not: WhyNot
    moves_only: bool
    is_kept: bool
    where: str


_rules: dict[str, Rule] = {}


def _accept(operation: Operation) -> str | None:
    return None


def rule(
    *targets: OpOverload | str,
    why_not: WhyNot = _accept,
    moves_only: bool = False,
    is_kept: bool = False,
) -> Callable[[Lower], Lower]:
    """Register a function as the rule of some operators."""

    def register(lower: Lower) -> Lower:
        module = lower.__module__
        for target in map(str, targets):
            if target in _rules:
                raise EtlabError(
                    f"TOSA: {target} has two rules, in {_rules[target].where} and {module}"
                )
            _rules[target] = Rule(lower, why_not, moves_only, is_kept, module)
        return lower

    return register


@cache
def all_rules() -> Mapping[str, Rule]:
    """The rules of all files in this folder, by the operator's name."""
    package = importlib.import_module(__package__)
    for module in pkgutil.iter_modules(package.__path__):
        importlib.import_module(f"{__package__}.{module.name}")
    return _rules
