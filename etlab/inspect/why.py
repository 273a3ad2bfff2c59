"""The answer to "why is this call where it is?"."""

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import NotFoundError
from etlab.inspect.delegation import DelegationReport
from etlab.inspect.delegation_rows import Call
from etlab.inspect.delegation_text import format_flops, format_seconds
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas

_MOST_PLACES = 6


@dataclass(frozen=True, slots=True)
class Why:
    """Calls of one subject, with who runs them and why.

    Attributes:
        subject: what was asked for.
        calls: those it means, in order of execution.
    """

    subject: str
    calls: Table[Call]

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a call."""
        return self.calls.to_dataframe()

    @property
    def lines(self) -> list[str]:
        """The answer: a headline, then one line a reason or backend, with places below."""
        delegated = [call for call in self.calls if call.part]
        count = len(self.calls)
        stayed = [call for call in self.calls if not call.part]
        plural = "" if count == 1 else "s"
        head = f"{self.subject}: {count} call{plural}, {len(delegated)} delegated"
        return [head, *_taken(delegated), *_stayed(stayed)]

    def __repr__(self) -> str:
        """The headline."""
        return self.lines[0]

    def __str__(self) -> str:
        """All lines."""
        return "\n".join(self.lines)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self) if cycle else str(self))

    def _repr_html_(self) -> str:
        head, *rest = self.lines
        body = display.escape("\n".join(rest))
        return display.card(
            head, f'<pre style="white-space:pre-wrap;margin:4px 0 0 0">{body}</pre>'
        )


def why(report: DelegationReport, subject: str) -> Why:
    """The calls that `subject` means; see `DelegationReport.why`."""
    wanted = subject.strip()
    calls = _meant(report.calls, wanted) if wanted else []
    if not calls:
        raise NotFoundError(
            f"{report.model} has no operator, node, module or part '{wanted}'; "
            + _near(report, wanted)
        )
    return Why(wanted, Table(Call, calls, title=f"{wanted} in {report.model}"))


def _meant(calls: Iterable[Call], wanted: str) -> list[Call]:
    """A node before operators, these before parts, these before modules and what they hold."""
    calls = list(calls)
    plain = _plain(wanted)
    tests = (
        lambda call: call.node == wanted,
        lambda call: plain in (call.operator, _short(call.operator)),
        lambda call: call.part == wanted,
        lambda call: f"{call.module}.".startswith(f"{wanted}."),
    )
    for test in tests:
        if found := [call for call in calls if test(call)]:
            return found
    return []


def _short(operator: str) -> str:
    """An operator's name as PyTorch's users know it.

    >>> _short("native_layer_norm"), _short("view_copy"), _short("_softmax")
    ('layer_norm', 'view', 'softmax')
    """
    return operator.removesuffix("_copy").removeprefix("native_").removeprefix("_")


def _plain(name: str) -> str:
    """An operator's name as reports write it.

    >>> _plain("aten.add.Tensor"), _plain("torch.ops.aten.linear"), _plain("aten::mm.out")
    ('add', 'linear', 'mm')
    """
    name = name.removeprefix("torch.ops.").removesuffix(".default")
    for prefix in ("aten::", "aten."):
        if name.startswith(prefix):
            return name.removeprefix(prefix).split(".")[0]
    return name


def _near(report: DelegationReport, wanted: str) -> str:
    operators = sorted({call.operator for call in report.calls})
    names = {name for call in report.calls for name in (call.node, call.module, call.part) if name}
    near = difflib.get_close_matches(wanted, [*operators, *sorted(names)], n=4)
    if near:
        return f"near it: {', '.join(near)}"
    more = ", …" if len(operators) > 12 else ""
    return f"its operators: {', '.join(operators[:12])}{more}"


def _taken(calls: list[Call]) -> list[str]:
    lines = []
    for backend in dict.fromkeys(call.backend for call in calls):
        own = [call for call in calls if call.backend == backend]
        parts: dict[str, int] = {}
        for call in own:
            parts[call.part] = parts.get(call.part, 0) + 1
        places = [f"{name} ({count})" if count > 1 else name for name, count in parts.items()]
        lines.append(f"  {len(own)} taken by {backend}{_cost(own)}: in {_listed(places)}")
    return lines


def _stayed(calls: list[Call]) -> list[str]:
    lines = []
    for kind, help_text in dict.fromkeys((call.kind, call.help) for call in calls):
        own = [call for call in calls if (call.kind, call.help) == (kind, help_text)]
        texts = {call.reason for call in own}
        reason = texts.pop() if len(texts) == 1 else kind
        lines.append(f"  {len(own)} left{_cost(own)}: {reason}")
        if help_text:
            lines.append(f"    what would help: {help_text}")
        lines.append(f"    at {_listed([_place(call) for call in own])}")
        if len(own) == 1 and own[0].line:
            lines.append(f"    {own[0].line}")
    return lines


def _place(call: Call) -> str:
    where = call.module or call.node
    return f"{where} ({call.source})" if call.source else where


def _cost(calls: list[Call]) -> str:
    """Share-giving facts of some calls, in brackets; nothing when nothing is known."""
    flops = sum(call.flops or 0 for call in calls)
    seconds = [call.seconds for call in calls if call.seconds is not None]
    texts = [f"{format_flops(flops)} FLOPs"] if flops else []
    texts += [format_seconds(sum(seconds))] if seconds else []
    return f" ({', '.join(texts)})" if texts else ""


def _listed(names: list[str]) -> str:
    shown = list(dict.fromkeys(names))
    more = f", and {len(shown) - _MOST_PLACES} more" if len(shown) > _MOST_PLACES else ""
    return ", ".join(shown[:_MOST_PLACES]) + more
