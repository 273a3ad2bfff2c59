"""Operators that nothing serves, and what is said of them."""

from collections.abc import Sequence
from dataclasses import dataclass

from etlab.errors import UnsupportedOperatorError
from etlab.exir.provenance import place_in
from etlab.exir.recurrent import PACKED, PACKED_WAY_OUT


@dataclass(slots=True)
class Unsupported:
    """An operator that cannot be lowered, and where it stands."""

    operator: str
    node: str
    stack_trace: str | None
    way_out: str | None


def unserved_error(method: str, refused: Sequence[Unsupported]) -> UnsupportedOperatorError:
    """One error for all of them, with their lines in the model and the ways out."""
    lines = [
        f"method '{method}': {len(refused)} operator call(s) have neither a portable kernel nor a "
        "decomposition:"
    ]
    lines += [f"  {one.operator} (node '{one.node}') at {_line(one)}" for one in refused]
    for operator, way_out in sorted({(u.operator, u.way_out) for u in refused if u.way_out}):
        lines.append(f"{operator}: {way_out}.")
    if any(one.operator in map(str, PACKED) for one in refused):
        lines.append(PACKED_WAY_OUT)
    lines.append(
        "Rewrite these lines with other operators, give them to a backend that takes them "
        "(partitioner), or register a decomposition."
    )
    return UnsupportedOperatorError("\n".join(lines))


def _line(one: Unsupported) -> str:
    file, line, text = place_in(one.stack_trace or "")
    return f"{file}:{line}: {text}" if file else "unknown"
