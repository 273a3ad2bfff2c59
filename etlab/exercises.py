"""Exercises of the notebooks: a check that passes, or says what is still missing."""

from dataclasses import replace
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etlab.llm.export_llm.result import LlmExport
    from etlab.numerics import ParityReport
    from etlab.run import ExportRun
    from etlab.sweeping import Sweep, SweepRow


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


def names_the_worst(report: "ParityReport", name: str) -> None:
    """The parity exercise: the operator that adds most error by itself."""
    (worst,) = report.worst(1)
    known = {row.operator for row in report.layers or ()}
    answer(
        (name in known, f"no operator of the report is called '{name}'"),
        (name == worst.operator, f"'{name}' is not the one that loses most alone"),
    )


def fits_the_board(run: "ExportRun", *, megabytes: float, pixels: int) -> None:
    """The memory exercise: a planned peak below a bound, for a picture that is large enough."""
    peak = run.memory_plan().peak / 1e6
    side = run.example_inputs[0].shape[-1]
    answer(
        (peak <= megabytes, f"the plan takes {peak:.1f} MB, more than {megabytes:g} MB"),
        (side >= pixels, f"the picture has {side} pixels a side, fewer than {pixels}"),
    )


def names_the_slowest(run: "ExportRun", name: str, *, runs: int) -> None:
    """The profile exercise: the operator that takes most of the time, on any machine."""
    table = run.profile(runs=runs, threads=1).by_operator
    known = [row.name for row in table]
    most = f"the profile has {', '.join(sorted(known))}"
    answer(
        (name in known, f"no operator is called '{name}': {most}"),
        (name not in known or name == known[0], f"'{name}' is not the one that takes most time"),
    )


def hears_the_stream(
    run: "ExportRun", chunks: Any, truth: Any, *, kilobytes: float, right: float
) -> None:
    """The streaming exercise: a small program that is right over a whole recording.

    Args:
        run: of a model with state, (1, size) samples to a probability.
        chunks: of the recording, in order.
        truth: whether there is speech in each.
        kilobytes: the largest file.
        right: the least share of chunks on the right side of one half.
    """
    method = run.file.program.new_method("forward")
    found = [float(method.execute([chunk])[0]) > 0.5 for chunk in chunks]
    share = sum(one == bool(other) for one, other in zip(found, truth, strict=True)) / len(found)
    size = len(run.file.data) / 1e3
    answer(
        (size <= kilobytes, f"the file has {size:,.0f} kB, more than {kilobytes:g} kB"),
        (share >= right, f"{share:.1%} of the pieces are right, fewer than {right:.0%}"),
    )


def picks_the_best(sweep: "Sweep", pair: tuple[str, str], bounds: str) -> None:
    """The sweep's exercise: the configuration that is best within bounds."""
    best = sweep.best(bounds)
    known = {(row.partitioner, row.quantizer): row for row in sweep.rows}
    row = known.get(pair)
    fits = {(one.partitioner, one.quantizer) for one in sweep.rows if _keeps(sweep, one, bounds)}
    answer(
        (row is not None, f"the sweep has no pair {pair}"),
        (row is None or pair in fits, f"{pair} does not keep {bounds}"),
        (pair not in fits or row == best, "another one that fits is closer to eager"),
    )


def _keeps(sweep: "Sweep", row: "SweepRow", bounds: str) -> bool:
    from etlab.errors import NotFoundError

    try:
        replace(sweep, rows=(row,)).best(bounds)
    except NotFoundError:
        return False
    return True


def finds_what_stayed(run: "ExportRun", query: str) -> None:
    """The comparison's exercise: a query for the calls that no backend took."""
    found = set(run.graph().select(query))
    stayed = {row.node for row in run.delegation().rejected}
    taken = {call.node for call in run.delegation().calls if call.part}
    answer(
        (stayed <= found, f"{len(stayed - found)} of {len(stayed)} calls that stayed are missing"),
        (not found & taken, f"{len(found & taken)} of those it finds were delegated"),
    )


def small_and_close(run: "ExportRun", samples: Any, *, megabytes: float, sqnr_db: float) -> None:
    """The quantization exercise: native outputs close to eager's on several samples, few bytes."""
    row = run.parity(samples, paths=["eager", "native"], layers=False).row("native")
    found = row.values.get("sqnr_db") or 0.0
    size = len(run.file.data) / 1e6
    answer(
        (size < megabytes, f"the file has {size:.1f} MB, more than {megabytes:g} MB"),
        (found >= sqnr_db, row.reason or f"it stays below {sqnr_db:g} dB"),
    )


def delegates_the_later_layers(model: Any, inputs: Any, partitioner: Any) -> None:
    """The extension exercise: a partitioner that takes `layers.1` and those after it."""
    from etlab.exporting import export

    calls = [
        call
        for call in export(model, inputs, partitioner=partitioner).delegation().calls
        if call.module.startswith("layers.")
    ]
    first = [call for call in calls if call.module.split(".")[1] == "0"]
    later = [call for call in calls if call not in first]
    taken = {call.module.split(".")[1] for call in later if call.part}
    wanted = {call.module.split(".")[1] for call in later}
    missing = ", ".join(sorted(wanted - taken))
    answer(
        (not any(call.part for call in first), "calls of the first layer are delegated"),
        (taken == wanted, f"nothing is delegated of layers {missing}"),
    )


def smaller_cache(exported: "LlmExport", tokenizer: Any, *, megabytes: float) -> None:
    """The exercise on language models: a smaller cache, and an answer that is still right."""
    from etlab.llm import Runner

    runner = Runner(exported, tokenizer)
    written = runner.generate("The capital of France is", max_new_tokens=4).text
    size = exported.cache_bytes / 1e6
    answer(
        (size < megabytes, f"the cache takes {size:.1f} MB, more than {megabytes:g} MB"),
        ("Paris" in written, f"the model writes {written!r}"),
    )
