"""`etlab.sweep`: every partitioner with every quantizer, measured, kept and compared."""

import functools
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from etlab.arguments import as_arguments, check_model
from etlab.calibration import Calibration
from etlab.choices import as_partitioners, as_quantizer
from etlab.errors import InterruptedExecutionError, InvalidArgumentError
from etlab.exir import stages
from etlab.exporting import export_module
from etlab.numerics.data import describe, warnings_about
from etlab.quantize import Quantizer
from etlab.run import ExportRun
from etlab.sweeping import fingerprint, store
from etlab.sweeping.objectives import Objective, find_objective
from etlab.sweeping.report import Sweep, SweepRow
from etlab.sweeping.trial import Configuration, Outcome, Work, export_configuration, made, measure

_SAMPLES = 8  # that results are judged on where no evaluation data are given


def sweep(
    model: Any,
    example_inputs: Any,
    *,
    partitioners: Any = ("none",),
    quantizers: Any = ("none",),
    metric: Any = "sqnr_db",
    objectives: Sequence[Any] = ("size", "latency"),
    calibration: Any = None,
    evaluation: Any = None,
    dynamic_shapes: Any = None,
    file: str | Path | None = None,
    fresh: bool = False,
    workers: int | None = None,
    scheduler: str | None = None,
) -> Sweep:
    """Export a model with every partitioner and quantizer, and measure what comes out.

    What was measured before with the same weights, code, data, options and installation is read
    from the file, which is written after every configuration: a sweep that was stopped goes on
    where it was. What failed is tried again. A stage listener sees the stage "sweep" with its
    parts; when it asks for a stop, what is done is kept and the rest is "not run".

    Worker processes are spawned. A module goes there pickled, with classes and functions of a
    notebook or script by value; one that cannot be pickled comes as a function that makes it,
    which every process calls for itself, and which must make the same model every time. Where time
    is measured, the other workers of this machine wait; on a cluster they do not.

    Args:
        model: a module in eval mode, or a function without arguments that makes one.
        example_inputs: positional arguments of one call.
        partitioners: a list of what `etlab.export(partitioner=…)` takes; a list in it is several
            together.
        quantizers: a list of what `etlab.export(quantizer=…)` takes.
        metric: name of the metric of closeness to eager, or an `Objective`; the first objective.
        objectives: the others: "size" (bytes of the files), "latency" (milliseconds, one thread,
            measured), "estimate" (milliseconds that delegates' compilers expect of devices that are
            not here), "memory" (bytes that a native run takes), "arena" (planned peak), metrics, or
            `etlab.sweeping.Objective`s such as `etlab.sweeping.latency(threads=2)`.
        calibration: samples for the quantizers, as `etlab.export` takes them; all are read.
        evaluation: samples to judge on, likewise; the first eight of `calibration`, or else the
            example, by default.
        dynamic_shapes: as `torch.export.export` takes them.
        file: the Parquet file that keeps the results; one in the user's cache folder by default.
        fresh: measure again what the file holds.
        workers: how many processes; 0 or 1 stays in this one; by default as many as processors and
            memory allow.
        scheduler: address of a Dask scheduler, such as "tcp://10.0.0.5:8786", whose workers have
            etlab installed, as it has itself; they measure instead.

    Raises:
        InvalidArgumentError: an argument is none of the above, or cannot be pickled for workers.
        NotFoundError: no partitioner, quantizer or objective has the given name.
        ExportError: `torch.export` refuses the model, so nothing could be measured.
        NotSupportedError: `scheduler` is given, and `distributed` is not installed.
        AccessError: the file or the scheduler cannot be reached.
    """
    if workers is not None and (not isinstance(workers, int) or workers < 0):
        raise InvalidArgumentError(f"sweep: expected workers of 0 or more, got {workers!r}")
    module = check_model(made(model), "sweep")
    inputs = as_arguments(example_inputs, "sweep")
    chosen = _objectives(metric, objectives)
    grid = _grid(partitioners, quantizers)
    exported = export_module(module, inputs, dynamic_shapes)
    samples = None if calibration is None else list(Calibration(calibration, exported, inputs))
    judged = (samples or [inputs])[:_SAMPLES]
    if evaluation is not None:
        judged = list(Calibration(evaluation, exported, inputs))
    content = fingerprint.model_digest(module, exported)
    place = Path(file) if file is not None else store.default_file(type(module).__name__, content)
    common = fingerprint.digest(
        content,
        fingerprint.value_digest((inputs, samples, judged)),
        dynamic_shapes,
        *map(fingerprint.objective_digest, chosen),
        scheduler if any(one.is_timed for one in chosen) else "",
        fingerprint.code_digest(),
    )
    work = Work(
        model=model,
        example_inputs=inputs,
        calibration=samples,
        evaluation=judged,
        dynamic_shapes=dynamic_shapes,
        objectives=chosen,
        configurations=_configurations(grid, common),
    )
    name = type(module).__name__
    notes = warnings_about(judged)
    if scheduler is not None and any(one.is_timed for one in chosen):
        notes.append("time was measured while other workers of the cluster may have computed")
    rows = _measure_all(work, name, place, fresh, workers, scheduler)
    return Sweep(
        name,
        chosen,
        tuple(rows),
        describe(judged),
        place,
        tuple(notes),
        functools.partial(_export, work),
    )


def _export(work: Work, key: str) -> ExportRun:
    """The run of the configuration that has this key."""
    index = next(place for place, one in enumerate(work.configurations) if one.key == key)
    return export_configuration(work, index)


def _objectives(metric: Any, others: Sequence[Any]) -> tuple[Objective, ...]:
    listed = [others] if isinstance(others, str | Objective) else list(others)
    found: dict[str, Objective] = {}
    for one in map(find_objective, [metric, *listed]):
        if one.name in store.FIXED:
            raise InvalidArgumentError(f"sweep: an objective cannot be called '{one.name}'")
        found.setdefault(one.name, one)
    return tuple(found.values())


def _grid(partitioners: Any, quantizers: Any) -> list[tuple[Any, Any]]:
    """Every pair; names are checked here, before anything takes time."""
    first, second = _listed(partitioners), _listed(quantizers)
    for one in first:
        as_partitioners(one)
    for one in second:
        as_quantizer(one)
    if not first or not second:
        raise InvalidArgumentError(
            "sweep: expected at least one partitioner and one quantizer; 'none' is one"
        )
    return [(left, right) for left in first for right in second]


def _listed(given: Any) -> list[Any]:
    return list(given) if isinstance(given, list | tuple) else [given]


def _configurations(grid: Sequence[tuple[Any, Any]], common: str) -> tuple[Configuration, ...]:
    found: dict[str, Configuration] = {}
    for pair in grid:
        key = fingerprint.digest(common, *map(fingerprint.choice_digest, pair))
        found.setdefault(key, Configuration(key, _text(pair[0]), _text(pair[1]), pair))
    return tuple(found.values())


def _text(choice: Any) -> str:
    """A choice as a user reads it; a quantizer with its parameters."""
    if choice is None:
        return "none"
    if isinstance(choice, list | tuple):
        return " + ".join(map(_text, choice)) or "none"
    if isinstance(choice, str):
        return choice
    return repr(choice) if isinstance(choice, Quantizer) else type(choice).__name__


def _measure_all(
    work: Work, name: str, place: Path, fresh: bool, workers: int | None, scheduler: str | None
) -> list[SweepRow]:
    """The row of every configuration, in order."""
    configurations = work.configurations
    known = {} if fresh else {key: row for key, (_, row) in store.read_rows(place).items()}
    rows = {
        one.key: known[one.key]
        if one.key in known and known[one.key].status == "ok"
        else SweepRow(one.key, one.partitioner, one.quantizer, "not run")
        for one in configurations
    }
    left = [index for index, one in enumerate(configurations) if rows[one.key].status != "ok"]
    outcomes = _outcomes(work, left, workers, scheduler)
    done = len(configurations) - len(left)
    try:
        with stages.stage("sweep"):
            _announce(done, len(configurations))
            for outcome in outcomes:
                row = _row(work, outcome)
                rows[row.key] = row
                store.write_rows(place, name, [row])
                done += 1
                if done < len(configurations):
                    _announce(done, len(configurations))
    except InterruptedExecutionError:
        pass  # what is done is in the file and in the rows
    finally:
        outcomes.close()
    # An older row may hold objectives of other sweeps in the same file, and another name.
    measured = [one.name for one in work.objectives]
    return [_narrowed(rows[one.key], measured) for one in configurations]


def _outcomes(
    work: Work, left: Sequence[int], workers: int | None, scheduler: str | None
) -> Generator[Outcome, None, None]:
    """A generator of outcomes: from a cluster, from processes, or made here."""
    if left and scheduler is not None:
        from etlab.sweeping.cluster import run_cluster

        data = fingerprint.packed("the model or an option", work, fingerprint.FOR_WORKERS)
        return run_cluster(data, left, scheduler, _check_stop)
    if len(left) > 1 and (workers is None or workers > 1):
        from etlab.sweeping.processes import run_processes, sensible_workers

        data = fingerprint.packed("the model or an option", work, fingerprint.FOR_WORKERS)
        count = workers or sensible_workers(len(left), len(data))
        if count > 1:
            return run_processes(data, left, min(count, len(left)), _check_stop)
    return _in_process(work, left)


def _in_process(work: Work, left: Sequence[int]) -> Generator[Outcome, None, None]:
    for index in left:
        yield measure(work, index)


def _row(work: Work, outcome: Outcome) -> SweepRow:
    one = work.configurations[outcome.index]
    return SweepRow(
        one.key,
        one.partitioner,
        one.quantizer,
        "failed" if outcome.reason else "ok",
        outcome.reason,
        outcome.seconds,
        outcome.values,
    )


def _narrowed(row: SweepRow, objectives: Sequence[str]) -> SweepRow:
    if row.status != "ok":
        return row
    return replace(row, values={name: row.values.get(name) for name in objectives})


def _check_stop() -> None:
    listener = stages.current()
    if listener is not None and listener.should_stop is not None and listener.should_stop():
        raise InterruptedExecutionError("the sweep was stopped")


def _announce(done: int, total: int) -> None:
    """Tell the stage listener how far the sweep is, and honour its stop."""
    _check_stop()
    listener = stages.current()
    on_part: Callable[[str, int, int | None], None] | None = getattr(listener, "on_part", None)
    if on_part is not None:
        on_part("sweep", done, total)
