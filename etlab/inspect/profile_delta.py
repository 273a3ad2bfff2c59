"""Two profiles of one model: what became quicker and what slower."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from etlab.errors import InvalidArgumentError
from etlab.inspect.table import Table

if TYPE_CHECKING:
    from etlab.inspect.profile import ProfileReport

BY = ("by_operator", "by_module", "by_source", "by_node", "by_part")
WHOLE = "end to end"


@dataclass(frozen=True, slots=True)
class ProfileDelta:
    """Rows with the same operator, module or line in two profiles.

    Attributes:
        name: what they share; "end to end" for whole calls without tracing.
        before_ms: the median in the baseline; None where it has no such rows.
        after_ms: the median here; likewise.
        delta_ms: the difference; what is missing counts as nothing.
        noise_ms: how far the 90th percentiles are above the medians, both together: a smaller
            difference says nothing.
    """

    name: str
    before_ms: float | None
    after_ms: float | None
    delta_ms: float
    noise_ms: float


def compare_profiles(
    before: "ProfileReport", after: "ProfileReport", by: str
) -> Table[ProfileDelta]:
    """Whole calls first, then the largest differences.

    Raises:
        InvalidArgumentError: a profile has no such table, or one was measured, the other estimated.
    """
    if bool(before.estimated) != bool(after.estimated):
        which = before if before.estimated else after
        raise InvalidArgumentError(
            f"versus: one profile was measured, the other not ({which.estimated}): compare"
            " estimates with estimates"
        )
    if by not in BY:
        raise InvalidArgumentError(f"versus: no table {by!r}; choose from {', '.join(BY)}")
    tables = [{row.name: row for row in getattr(one, by)} for one in (before, after)]
    rows = []
    for name in dict.fromkeys((*tables[0], *tables[1])):
        old, new = tables[0].get(name), tables[1].get(name)
        noise = sum(row.p90_ms - row.p50_ms for row in (old, new) if row is not None)
        before_ms, after_ms = (None if row is None else row.p50_ms for row in (old, new))
        delta = (after_ms or 0.0) - (before_ms or 0.0)
        rows.append(ProfileDelta(name, before_ms, after_ms, delta, noise))
    rows.sort(key=lambda row: (-abs(row.delta_ms), row.name))
    whole = [one.end_to_end for one in (before, after)]
    noise = sum(one.p90 - one.p50 for one in whole) * 1e3
    first, second = (one.p50 * 1e3 for one in whole)
    rows.insert(0, ProfileDelta(WHOLE, first, second, second - first, noise))
    return Table(ProfileDelta, rows, title=f"{after.model} against {before.model}")
