"""Who computes what: the calls that backends took, those that stayed and why, and the borders."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.inspect.delegation_rows import (
    Border,
    Call,
    DelegatedPart,
    ModuleShare,
    OperatorShare,
    ReasonGroup,
    RejectedNode,
)
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas

    from etlab.inspect.estimates import EstimateReport
    from etlab.inspect.why import Why

# Who runs what no backend took, as reports call it.
OWN_KERNELS = "own kernels"


@dataclass(frozen=True, slots=True)
class DelegationReport:
    """Who computes what, and why.

    Attributes:
        model: its name.
        partitioner: its name, "none" without.
        calls: all of them, in order of execution.
        parts: delegated subgraphs in order of execution.
        borders: tensors that cross into or out of delegates.
        runs: how often time was measured; 0: it was not.
        estimates: of devices that are not here.
    """

    model: str
    partitioner: str
    calls: Table[Call]
    parts: tuple[DelegatedPart, ...]
    borders: Table[Border]
    runs: int = 0
    estimates: "EstimateReport | None" = None
    _measure: "Callable[..., DelegationReport] | None" = field(
        default=None, repr=False, compare=False
    )

    @property
    def delegated_calls(self) -> int:
        """Calls inside delegated parts."""
        return sum(bool(call.part) for call in self.calls)

    @property
    def coverage(self) -> float:
        """Share of calls that a backend runs."""
        return self.delegated_calls / len(self.calls) if self.calls else 0.0

    @property
    def rejected(self) -> Table[RejectedNode]:
        """The calls that our own kernels run, every one with a reason."""
        names = RejectedNode.__dataclass_fields__
        rows = [
            RejectedNode(**{name: getattr(call, name) for name in names})
            for call in self.calls
            if not call.part
        ]
        return Table(RejectedNode, rows, title=f"calls of {self.model} that stayed")

    @property
    def by_op(self) -> Table[OperatorShare]:
        """Calls by operator, the commonest first."""
        rows = [
            OperatorShare(
                operator,
                len(calls),
                sum(bool(call.part) for call in calls),
                ", ".join(sorted({call.backend for call in calls if call.backend})),
                total(call.nbytes for call in calls),
                total(call.flops for call in calls),
                total(call.seconds for call in calls if not call.part),
            )
            for (operator,), calls in _grouped(self.calls, "operator").items()
        ]
        rows.sort(key=lambda row: (-row.calls, row.operator))
        return Table(OperatorShare, rows, title=f"operators of {self.model}")

    @property
    def by_module(self) -> Table[ModuleShare]:
        """Calls by innermost module, those with most calls that stayed first."""
        rows = []
        for (module,), calls in _grouped(self.calls, "module").items():
            stayed = [call for call in calls if not call.part]
            operators = ", ".join(dict.fromkeys(call.operator for call in stayed))
            rows.append(ModuleShare(module or "(top)", len(calls), len(stayed), operators))
        rows.sort(key=lambda row: (-row.stayed, -row.calls, row.module))
        return Table(ModuleShare, rows, title=f"modules of {self.model}")

    @property
    def reasons(self) -> Table[ReasonGroup]:
        """Calls that stayed by reason: the slowest first where time was measured."""
        stayed = [call for call in self.calls if not call.part]
        rows = [
            ReasonGroup(
                calls[0].kind,
                calls[0].help,
                len(calls),
                ", ".join(dict.fromkeys(call.operator for call in calls)),
                total(call.nbytes for call in calls),
                total(call.flops for call in calls),
                total(call.seconds for call in calls),
            )
            for calls in _grouped(stayed, "kind", "help").values()
        ]
        rows.sort(key=lambda row: (-(row.seconds or 0.0), -row.calls, row.reason))
        return Table(ReasonGroup, rows, title=f"why calls of {self.model} stayed")

    @property
    def shares(self) -> dict[str, dict[str, float]]:
        """Who computes how much: weight ("calls", "bytes", "FLOPs", "time") to backend to share.

        The shares of a weight add up to one. A weight that is nothing or unknown is left out.
        """
        amounts = {
            "calls": [(call.backend, 1.0) for call in self.calls],
            "bytes": [(call.backend, float(call.nbytes or 0)) for call in self.calls],
            "FLOPs": [(call.backend, float(call.flops or 0)) for call in self.calls],
            "time": [
                *((part.backend, part.seconds or 0.0) for part in self.parts),
                *((call.backend, call.seconds or 0.0) for call in self.calls if not call.part),
            ],
        }
        found = {}
        for weight, pairs in amounts.items():
            whole = sum(amount for _, amount in pairs)
            if whole:
                names = sorted({name for name, _ in pairs if name})
                shares = {
                    name: sum(amount for other, amount in pairs if other == name) / whole
                    for name in (*names, "")
                }
                found[weight] = {name or OWN_KERNELS: share for name, share in shares.items()}
        return found

    def why(self, subject: str) -> "Why":
        """Why calls are where they are.

        Args:
            subject: an operator (`"add"`, `"aten.add.Tensor"`), a node, a module's path, or a part.

        Raises:
            NotFoundError: nothing of this model is called that; the message has what comes near.
        """
        from etlab.inspect.why import why

        return why(self, subject)

    def measured(self, runs: int = 5) -> "DelegationReport":
        """The same report with the times of so many native runs.

        Raises:
            InvalidArgumentError: it was made without its run.
            EtlabError: the native runtime refuses or fails.
        """
        if self._measure is None:
            raise InvalidArgumentError("this report was made without its run: use run.delegation()")
        return self._measure(runs=runs)

    def to_svg(self) -> str:
        """Who computes what as bars, and the calls in order."""
        from etlab.inspect.delegation_picture import draw_svg

        return draw_svg(self)

    def widget(self, **options: Any) -> Any:
        """A `DelegationView` of this report; see there for the options."""
        return display.view_of(self, "DelegationView", **options)

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a call: who runs it, what it costs, and the reason where it stayed."""
        frame = self.calls.to_dataframe()
        frame.insert(1, "delegated", frame.part != "")
        return frame

    def __repr__(self) -> str:
        """One line."""
        return f"DelegationReport({self.model}, {self.partitioner}: {summary(self)})"

    def __str__(self) -> str:
        """One screen: shares as bars, reasons with what would help."""
        from etlab.inspect.delegation_text import delegation_text

        return delegation_text(self)

    def _repr_pretty_(self, printer: Any, cycle: bool) -> None:
        printer.text(repr(self) if cycle else str(self))

    def _repr_html_(self) -> str:
        from etlab.inspect.delegation_card import delegation_card

        return delegation_card(self)


def summary(report: DelegationReport) -> str:
    """`5 of 7 calls delegated in 2 parts`."""
    parts = len(report.parts)
    return (
        f"{report.delegated_calls} of {len(report.calls)} calls delegated in {parts} "
        f"part{'' if parts == 1 else 's'}"
    )


def total(amounts: Iterable[float | int | None]) -> Any:
    """The sum of what is known; None when nothing is."""
    known = [amount for amount in amounts if amount is not None]
    return sum(known) if known else None


def _grouped(calls: Iterable[Call], *fields: str) -> dict[tuple[str, ...], list[Call]]:
    found: dict[tuple[str, ...], list[Call]] = {}
    for call in calls:
        found.setdefault(tuple(getattr(call, field) for field in fields), []).append(call)
    return found
