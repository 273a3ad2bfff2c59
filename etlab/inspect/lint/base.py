"""Rules, what they look at, and what they find."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from torch import fx

from etlab import display
from etlab.exir.edge import EdgeGraph
from etlab.exir.emit.schema import ExecutionPlan
from etlab.exir.memory.plan import MemoryPlan
from etlab.exir.provenance import module_of, operator_of, source_line
from etlab.inspect.delegation import DelegationReport
from etlab.inspect.table import Table

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that could be better.

    Attributes:
        rule: that found it.
        method: of the program.
        node: where.
        operator: of the node.
        module: path of its module.
        source: `file.py:line` of the model.
        line: the text of that line.
        nbytes: that it is about; None when it is not about bytes.
        text: what is wrong.
        remedy: what to do.
    """

    rule: str
    method: str
    node: str
    operator: str
    module: str
    source: str
    line: str
    nbytes: int | None
    text: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One method of a program.

    Attributes:
        method: its name.
        graph: after partitioning.
        plan: of the program.
        memory: where its tensors lie.
        nodes: which node each instruction came from.
        delegation: who computes what.
    """

    method: str
    graph: EdgeGraph = field(repr=False)
    plan: ExecutionPlan = field(repr=False)
    memory: MemoryPlan = field(repr=False)
    nodes: tuple[str, ...] = field(repr=False)
    delegation: DelegationReport = field(repr=False)


@dataclass(frozen=True, slots=True)
class Rule:
    """A check.

    Attributes:
        name: in tables, and to choose it by.
        summary: what it looks for.
        check: the findings of a method.
    """

    name: str
    summary: str
    check: Callable[[Subject], Iterable[Finding]]


def finding_at(
    rule: str, subject: Subject, node: fx.Node, text: str, remedy: str, nbytes: int | None = None
) -> Finding:
    """A finding that is about a node."""
    source, line = source_line(node)
    operator = operator_of(node) if node.op == "call_function" else node.op
    return Finding(
        rule,
        subject.method,
        node.name,
        operator,
        module_of(node),
        source,
        line,
        nbytes,
        text,
        remedy,
    )


@dataclass(frozen=True, slots=True)
class LintReport:
    """All findings; false in a condition when there are none.

    Attributes:
        model: its name.
        rules: that were checked.
        findings: by rule, in order of execution.
    """

    model: str
    rules: tuple[str, ...]
    findings: tuple[Finding, ...]

    def __bool__(self) -> bool:
        """Whether anything was found."""
        return bool(self.findings)

    def __len__(self) -> int:
        """How many findings."""
        return len(self.findings)

    def of(self, rule: str) -> Table[Finding]:
        """The findings of one rule."""
        found = [finding for finding in self.findings if finding.rule == rule]
        return Table(Finding, found, title=f"{rule} in {self.model}")

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a finding."""
        return Table(Finding, self.findings, title="").to_dataframe()

    def __repr__(self) -> str:
        """One line."""
        counts = {rule: len(self.of(rule)) for rule in self.rules}
        found = ", ".join(f"{count} {rule}" for rule, count in counts.items() if count)
        return f"LintReport({self.model}: {found or 'nothing found'})"

    def __str__(self) -> str:
        """Every finding with its place and remedy."""
        if not self.findings:
            return f"{self.model}: nothing found by {', '.join(self.rules)}"
        parts = []
        for finding in self.findings:
            place = ", ".join(filter(None, (finding.node, finding.module, finding.source)))
            line = f"\n    > {finding.line}" if finding.line else ""
            parts.append(
                f"{finding.rule}: {finding.text}\n    at {place}{line}\n    {finding.remedy}"
            )
        return "\n".join(parts)

    def _repr_html_(self) -> str:
        columns = ("rule", "node", "module", "source", "bytes", "finding", "remedy")
        rows = [
            (
                one.rule,
                one.node,
                one.module,
                one.source,
                "" if one.nbytes is None else f"{one.nbytes:,}",
                one.text,
                one.remedy,
            )
            for one in self.findings
        ]
        body = (
            display.table(columns, rows, numeric=("bytes",))
            if rows
            else f"<div>nothing found by {display.escape(', '.join(self.rules))}</div>"
        )
        return display.card(f"Lint of {self.model}", body, subtitle=repr(self))
