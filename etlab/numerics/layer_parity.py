"""Compares the operators of a run on a few samples: what `run.parity()` adds to the outputs."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from etlab.errors import InterruptedExecutionError, InvalidArgumentError
from etlab.numerics.comparison import REFERENCES, LayerComparison
from etlab.numerics.data import describe
from etlab.numerics.layer_report import LayerReport
from etlab.numerics.layers import coverage_of
from etlab.numerics.pairs import COMPARABLE
from etlab.numerics.parameters import clip_of, parameters_of
from etlab.numerics.report import ParityReport
from etlab.numerics.subject import File, Subject
from etlab.numerics.tensor_pair import TensorPair

_METRICS = ("sqnr_db", "max_abs", "cosine")
SAMPLES = 2


def with_layers(
    report: ParityReport,
    run: Subject,
    samples: Sequence[tuple[Any, ...]],
    paths: Sequence[str],
    metrics: Sequence[str] | None,
    *,
    count: int,
    local: bool,
    simulate: str | None = None,
) -> ParityReport:
    """The report of outputs with the operators of the first `count` samples, or why they lack."""
    if report.reference not in REFERENCES:
        return report
    few = samples[:count]
    try:
        layers = compare_layers(
            run,
            few,
            reference=report.reference,
            paths=paths,
            metrics=metrics,
            local=local,
            simulate=simulate,
        )
    except InterruptedExecutionError:
        raise
    except Exception as error:
        text = " ".join(str(error).split()) or type(error).__name__
        warnings = (*report.warnings, f"operators were not compared: {text}")
        return dataclasses.replace(report, warnings=warnings)
    return dataclasses.replace(report, layers=layers)


def count_of_samples(layers: Any) -> int:
    """On how many samples operators are compared, from the argument `layers`.

    Raises:
        InvalidArgumentError: it is neither true or false nor a number of samples.
    """
    if isinstance(layers, bool):
        return SAMPLES if layers else 0
    if not isinstance(layers, int) or layers < 0:
        raise InvalidArgumentError(
            f"parity: layers: expected True, False or a number of samples, got {layers!r}"
        )
    return layers


def tensors_of(
    run: Subject,
    sample: tuple[Any, ...],
    operator: str,
    *,
    path: str,
    reference: str,
    local: bool,
) -> TensorPair:
    """Both tensors of one operator; arguments as `ExportRun.tensors`."""
    shown = [one for one in COMPARABLE if one != "quantized" or run.quantized is not None]
    shown = [one for one in shown if one != reference]
    if path not in shown:
        raise InvalidArgumentError(
            f"tensors: path '{path}' shows no operators beside the reference '{reference}': choose"
            f" from {', '.join(shown)}"
        )
    report = compare_layers(run, [sample], reference=reference, paths=[path], local=local)
    report.row(operator, path)
    return report.tensors(operator, path, local=local)


def compare_layers(
    run: Subject,
    samples: Sequence[tuple[Any, ...]],
    *,
    reference: str = "eager",
    paths: Sequence[str] = ("exported", "quantized", "native"),
    metrics: Sequence[str] | None = None,
    local: bool = True,
    file: File | None = None,
    simulate: str | None = None,
) -> LayerReport:
    """Compare every operator of a run.

    Args:
        run: the run.
        samples: arguments of each sample; what is seen last is only held, so many cost time but
            little memory.
        reference: "eager", "exported" or "quantized".
        paths: which to compare; those that show no operators are left out.
        metrics: names of metrics; SQNR, the largest difference and the cosine by default.
        local: run every step of the programs alone on the reference's inputs, too.
        simulate: name of a backend: the path "quantized" is computed with its arithmetic instead of
            PT2E's, which no device has.
        file: a program with the instructions of the run's, such as one that came back from a
            device; the run's own by default.

    Raises:
        InvalidArgumentError: PyTorch does not run the reference.
        EtlabError: the reference fails.
    """
    if reference not in REFERENCES or (reference == "quantized" and run.quantized is None):
        raise InvalidArgumentError(
            f"operators are compared with a reference that PyTorch runs, not '{reference}':"
            f" choose from {', '.join(n for n in REFERENCES if n != 'quantized' or run.quantized)}"
        )
    names = [one for one in paths if one in COMPARABLE and one != reference]
    names = [one for one in names if one != "quantized" or run.quantized is not None]
    chosen = tuple(metrics) if metrics is not None else _METRICS

    def comparison(which: Sequence[str]) -> LayerComparison:
        return LayerComparison(
            run,
            reference=reference,
            paths=which,
            metrics=chosen,
            local=local,
            file=file or run.file,
            simulate=simulate,
        )

    with comparison(names) as session:
        for sample in samples:
            session.add(sample)
        rows = session.rows()
    alignment = session.alignment
    lowered = run.quantized or run.exported
    nodes = {node.name: node for node in lowered.graph.nodes}
    operators = {one.name: one for one in alignment.operators}

    def open_tensors(operator: str, path: str, is_local: bool) -> TensorPair:
        row = next(r for r in rows if (r.operator, r.path) == (operator, path))
        found = row.local if is_local else row.accumulated
        sample = (found.worst_sample if found is not None else None) or 0
        with comparison([path]) as again:
            pair = again.tensors(samples[sample], operator, path, local=is_local)
        if pair is None:
            raise InvalidArgumentError(f"{path} has no value of '{operator}': {row.reason}")
        one = operators[operator]
        clips = [clip_of(nodes.get(name)) for name in one.chain]
        clip = next((each for each in clips if each is not None), None)
        return TensorPair(operator, path, reference, *pair, clip, is_local, sample)

    def parameters(operator: str) -> Mapping[str, str]:
        return parameters_of(operators[operator], run.exported, lowered)

    coverage = tuple(
        coverage_of(
            path,
            [row for row in rows if row.path == path],
            len(samples),
            session.note(path),
        )
        for path in names
    )
    return LayerReport(
        run.name, reference, chosen, rows, coverage, describe(samples), open_tensors, parameters
    )
