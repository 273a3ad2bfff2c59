"""Operators that a backend would take if one thing were otherwise."""

from collections.abc import Iterator

from etlab.inspect.lint.base import Finding, Rule, Subject


def check(subject: Subject) -> Iterator[Finding]:
    """One finding for each reason that has a remedy."""
    report = subject.delegation
    if report.partitioner == "none":
        return
    total = len(report.calls) or 1
    for group in report.reasons:
        if not group.help:
            continue
        calls = [call for call in report.calls if call.kind == group.reason]
        first = calls[0] if calls else None
        yield Finding(
            RULE.name,
            subject.method,
            first.node if first else "",
            group.operators,
            first.module if first else "",
            first.source if first else "",
            first.line if first else "",
            group.nbytes,
            f"{group.calls} of {total} calls were left to our own kernels: {group.reason}",
            group.help,
        )


RULE = Rule("left-out", "operators that a backend would take if one thing were otherwise", check)
