"""What an `ExportRun` (`run`) says of itself: its profile, memory, record and lint."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

from etlab.errors import NotSupportedError
from etlab.inspect.delegation import DelegationReport
from etlab.inspect.delegation_reader import delegation_report
from etlab.inspect.estimated_profile import estimated_profile
from etlab.inspect.estimates import EstimateReport, estimates_in
from etlab.inspect.lint import LintReport, Subject, lint
from etlab.inspect.memory_use import MemoryUse, measure_memory
from etlab.inspect.profile import ProfileReport
from etlab.inspect.profile_reader import Origins, profile
from etlab.inspect.size import SizeReport, size_report
from etlab.inspect.timing import seconds_of_nodes
from etlab.numerics.paths import flatten_arguments, module_path

if TYPE_CHECKING:
    from etlab.devtools import ETRecord


def profile_run(
    run: Any, inputs: Any, method: str, *, runs: int, warmup: int, threads: int | None
) -> ProfileReport:
    """`ExportRun.profile`."""
    measure = partial(
        profile,
        run.file.program,
        method,
        _flat_sample(run, inputs, "profile"),
        model=run.name,
        runs=runs,
        warmup=warmup,
        threads=threads,
        origins=Origins(run.program.edge_graph(method), run.program.instruction_nodes(method)),
    )
    return measured_or_estimated(measure, estimates_of_run(run, method), method)


def measured_or_estimated(
    measure: Callable[[], ProfileReport], estimates: EstimateReport, method: str
) -> ProfileReport:
    """A measured profile; where the program needs a device that is not here, an estimated one."""
    try:
        return measure()
    except NotSupportedError:
        if not estimates:
            raise
    return estimated_profile(estimates, method)


def estimates_of_run(run: Any, method: str) -> EstimateReport:
    """`ExportRun.estimates`."""
    return estimates_in(run.delegated.edge_graph(method), run.name)


def delegation_of_run(run: Any, inputs: Any, method: str, *, runs: int) -> DelegationReport:
    """`ExportRun.delegation`."""
    seconds = None
    if runs:
        flat = _flat_sample(run, inputs, "delegation")
        nodes = run.program.instruction_nodes(method)
        seconds = seconds_of_nodes(run.file.program, method, nodes, flat, runs=runs)
    report = delegation_report(
        run.delegated.edge_graph(method),
        model=run.name,
        partitioner=run.partitioner,
        seconds=seconds,
        runs=runs,
    )
    return replace(report, _measure=partial(delegation_of_run, run, inputs, method))


def memory_of_run(run: Any, inputs: Any, method: str) -> MemoryUse:
    """`ExportRun.memory`."""
    return measure_memory(run, _flat_sample(run, inputs, "memory"), method)


def record_run(run: Any) -> "ETRecord":
    """`ExportRun.etrecord`."""
    from etlab.devtools import ETRecord

    record = ETRecord()
    record.add_exported_program(run.quantized or run.exported)
    record.add_edge_dialect_program(run.edge)
    record.add_executorch_program(run.program)
    sample = _sample(run)
    record.update_representative_inputs(flatten_arguments(sample))
    with module_path("eager", run.model)() as call:
        record.update_reference_outputs({"forward": [call(sample)]})
    return record


def size_of_run(run: Any) -> SizeReport:
    """`ExportRun.size`."""
    file = run.file
    return size_report(
        file.data,
        title=run.name,
        graphs=[run.delegated.edge_graph(name) for name in sorted(run.delegated.methods)],
        tensor_data=file.tensor_data,
        parameters=run.exported.state_dict,
        estimates=estimates_of_run(run, "forward") if "forward" in run.delegated.methods else None,
    )


def lint_run(run: Any, rules: Sequence[str] | None) -> LintReport:
    """`ExportRun.lint`."""
    plans = {plan.name: plan for plan in run.program.executorch_program.execution_plan or ()}
    subjects = [
        Subject(
            method,
            run.delegated.edge_graph(method),
            plans[method],
            run.program.memory_plan(method),
            run.program.instruction_nodes(method),
            run.delegation(method),
        )
        for method in sorted(run.program.methods)
    ]
    return lint(subjects, model=run.name, rules=rules)


def _sample(run: Any) -> Any:
    """The first calibration sample, or else the example."""
    return run.calibration[0] if run.calibration else run.example_inputs


def _flat_sample(run: Any, inputs: Any, who: str) -> list[Any]:
    from etlab.arguments import as_arguments

    sample = _sample(run) if inputs is None else as_arguments(inputs, who)
    return list(flatten_arguments(sample))
