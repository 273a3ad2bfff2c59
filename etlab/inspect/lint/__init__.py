"""What in a program costs bytes or time for nothing, and what to do about it.

One rule a file, found by its presence: a file ends with its `RULE`.
"""

import functools
import importlib
import pkgutil
from collections.abc import Sequence

from etlab.arguments import as_names
from etlab.errors import NotFoundError
from etlab.inspect.lint.base import Finding, LintReport, Rule, Subject

__all__ = ["Finding", "LintReport", "Rule", "Subject", "all_rules", "lint"]


@functools.cache
def all_rules() -> dict[str, Rule]:
    """Every rule by name."""
    found = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        if (rule := getattr(module, "RULE", None)) is not None:
            found[rule.name] = rule
    return dict(sorted(found.items()))


def lint(subjects: Sequence[Subject], *, model: str, rules: Sequence[str] | None) -> LintReport:
    """Check methods.

    Args:
        subjects: one a method.
        model: name for titles.
        rules: names of rules; all by default.

    Raises:
        NotFoundError: there is no such rule; the message lists those that exist.
    """
    known = all_rules()
    chosen = list(known) if rules is None else as_names(rules, "lint: rules")
    if unknown := [name for name in chosen if name not in known]:
        raise NotFoundError(f"no rule {', '.join(unknown)}: choose from {', '.join(known)}")
    findings = [
        finding for name in chosen for subject in subjects for finding in known[name].check(subject)
    ]
    return LintReport(model, tuple(chosen), tuple(findings))
