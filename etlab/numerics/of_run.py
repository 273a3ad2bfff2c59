"""What an `ExportRun` (`run`) says of its numbers: parity, and the tensors of one operator."""

import dataclasses
from collections.abc import Sequence
from typing import Any

from etlab.arguments import as_arguments, as_names, check_sample
from etlab.numerics.layer_parity import count_of_samples, tensors_of, with_layers
from etlab.numerics.parity import as_samples, compare
from etlab.numerics.report import Origin, ParityReport
from etlab.numerics.run_paths import paths_of
from etlab.numerics.tensor_pair import TensorPair


def parity_of_run(
    run: Any,
    inputs: Any,
    *,
    reference: str,
    paths: Sequence[str] | None,
    metrics: Sequence[str] | None,
    layers: bool | int,
    local: bool,
    simulate: str | None,
) -> ParityReport:
    """`ExportRun.parity`."""
    samples = list(run.calibration) if inputs is None else as_samples(inputs)
    if inputs is not None:
        for sample in samples:
            check_sample(run.exported, sample, "parity")
    names = run.paths if paths is None else as_names(paths, "parity: paths")
    metrics = None if metrics is None else as_names(metrics, "parity: metrics")
    count = count_of_samples(layers)
    if reference not in names:
        names.insert(0, reference)
    report = compare(
        paths_of(run, names, simulate),
        samples,
        model=run.name,
        reference=reference,
        output_names=[str(name) for name in run.exported.graph_signature.user_outputs],
        metrics=metrics,
        noise_floor=count > 0 and reference == "eager",
    )
    asked = {"reference": reference, "paths": paths, "metrics": metrics, "layers": layers}
    origin = Origin(run, inputs, {**asked, "local": local, "simulate": simulate})
    report = dataclasses.replace(report, origin=origin)
    if not count:
        return report
    if paths is None:
        names = [name for name in names if name != "official"]
    return with_layers(
        report, run, samples, names, metrics, count=count, local=local, simulate=simulate
    )


def tensors_of_run(
    run: Any, inputs: Any, node: str, *, path: str, reference: str, local: bool
) -> TensorPair:
    """`ExportRun.tensors`."""
    sample = run.calibration[0] if run.calibration else run.example_inputs
    if inputs is not None:
        sample = as_arguments(inputs, "tensors")
        check_sample(run.exported, sample, "tensors")
    return tensors_of(run, sample, node, path=path, reference=reference, local=local)
