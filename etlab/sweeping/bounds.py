"""Bounds such as `"size<4MB and sqnr_db>=30"`, read and applied."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.sweeping.objectives import Objective

_UNITS: dict[str, dict[str, float]] = {
    "bytes": {"": 1, "b": 1, "kb": 1e3, "mb": 1e6, "gb": 1e9, "kib": 2**10, "mib": 2**20}
    | {"gib": 2**30},
    "ms": {"": 1, "us": 1e-3, "µs": 1e-3, "ms": 1, "s": 1e3},
    "": {"": 1},
}
_SIGNS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_BOUND = re.compile(
    r"\s*(\w+)\s*(<=|>=|<|>)\s*([+-]?(?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)\s*([a-zµ]*)\s*", re.I
)


@dataclass(frozen=True, slots=True)
class Bound:
    """One comparison.

    Attributes:
        text: as it was written.
        name: of the objective.
        sign: the comparison.
        value: in the objective's unit.
    """

    text: str
    name: str
    sign: str
    value: float

    def holds(self, values: Mapping[str, float | None]) -> bool:
        """Whether a row keeps it; what has no value does not."""
        value = values.get(self.name)
        return value is not None and _SIGNS[self.sign](value, self.value)


def read_bounds(text: str, objectives: Sequence[Objective]) -> list[Bound]:
    """The bounds of an expression; several are joined by `and` or a comma. None for no text.

    Raises:
        InvalidArgumentError: it cannot be read, or has a unit that the objective has not.
        NotFoundError: it names what was not measured.
    """
    known = {one.name: one for one in objectives}
    found = []
    for part in re.split(r",|\band\b", text) if text.strip() else ():
        match = _BOUND.fullmatch(part)
        if match is None:
            raise InvalidArgumentError(
                "best: expected bounds such as 'size<4MB' or 'size<4MB and latency<=5ms', got"
                f" {text!r}"
            )
        name, sign, number, unit = match.groups()
        if name not in known:
            raise NotFoundError(
                f"best: this sweep did not measure '{name}', only {', '.join(known)}; name it in"
                " objectives="
            )
        units = _UNITS[known[name].unit]
        if unit.lower() not in units:
            takes = ", ".join(filter(None, units)) or "no unit"
            raise InvalidArgumentError(f"best: {name} takes {takes}, got {unit!r} in {text!r}")
        found.append(Bound(part.strip(), name, sign, float(number) * units[unit.lower()]))
    return found
