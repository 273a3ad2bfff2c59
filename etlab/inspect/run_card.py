"""The card that a notebook shows for an `ExportRun`."""

from typing import TYPE_CHECKING

from etlab import display

if TYPE_CHECKING:
    from etlab.run import ExportRun


def run_card(run: "ExportRun") -> str:
    """Stages, inputs and the file of a run; without times, which differ from run to run."""
    notes = [display.note(text) for text in run.notes]
    rows = [[stage, _described(run, stage)] for stage in run.stages]
    plan = run.memory_plan()
    facts = [
        ["file", f"{len(run.file.data):,} bytes"],
        ["planned memory", f"{plan.peak:,} bytes"],
        ["methods", ", ".join(sorted(run.program.methods))],
        ["paths to compare", ", ".join(run.paths)],
    ]
    return display.card(
        f"Export of {run.name}",
        *notes,
        display.table(["stage", "what it is"], rows),
        display.table(["", ""], facts),
        subtitle=f"partitioner {run.partitioner}, quantizer {run.quantizer}",
    )


def _described(run: "ExportRun", stage: str) -> str:
    if stage == "eager":
        count = sum(parameter.numel() for parameter in run.model.parameters())
        return f"{type(run.model).__name__}, {count:,} parameters"
    if stage == "program":
        return f"{display.format_bytes(len(run.file.data))} .pte"
    graph = run.graph(stage)
    calls = sum(graph.operators.values())
    text = f"{calls} calls of {len(graph.operators)} operators"
    backends = sorted({node.backend for node in graph.nodes if node.backend})
    return f"{text}, delegated to {', '.join(backends)}" if backends else text
