"""Exercises of the notebooks: a check that passes, or says what is still missing."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etlab.run import ExportRun


def answer(*conditions: tuple[bool, str]) -> None:
    """Print "Done." or every condition that does not hold yet.

    >>> answer((True, "the file is small"), (False, "the cat is still a cat"))
    Not yet:
      the cat is still a cat
    """
    missing = [text for holds, text in conditions if not holds]
    print("Done." if not missing else "\n".join(["Not yet:", *(f"  {text}" for text in missing)]))


def smaller_and_still_right(
    run: "ExportRun", inputs: Any, *, megabytes: float, sqnr_db: float
) -> None:
    """The quickstart's exercise: a smaller file whose native outputs stay close to eager's."""
    row = run.parity(inputs, paths=["eager", "native"]).row("native")
    size = len(run.file.data) / 1e6
    found = row.values.get("sqnr_db")
    close = found is not None and found >= sqnr_db
    answer(
        (size < megabytes, f"the file has {size:.1f} MB, more than {megabytes:g} MB"),
        (close, row.reason or f"SQNR is {found or 0:.1f} dB, less than {sqnr_db:g} dB"),
    )


def fewer_calls_left(run: "ExportRun", *, calls: int, sqnr_db: float) -> None:
    """The delegation exercise: fewer calls that stay, and native outputs as close to eager's."""
    row = run.parity(paths=["eager", "native"]).row("native")
    found = row.values.get("sqnr_db")
    close = found is not None and found >= sqnr_db
    report = run.delegation()
    left = len(report.rejected)
    dtypes = sum(group.calls for group in report.reasons if "int64" in group.reason)
    answer(
        (left <= calls, f"{left} calls stay, more than {calls}; {dtypes} of them because of int64"),
        (close, row.reason or f"SQNR is {found or 0:.1f} dB, less than {sqnr_db:g} dB"),
    )


def closer_than(run: "ExportRun", inputs: Any, *, sqnr_db: float) -> None:
    """The exercise of the backend in a cell: native outputs closer to eager's than a bound."""
    row = run.parity(inputs, paths=["eager", "native"], local=False).row("native")
    found = row.values.get("sqnr_db")
    close = found is not None and found > sqnr_db
    answer((close, row.reason or f"SQNR is {found or 0:.1f} dB, not more than {sqnr_db:g} dB"))
