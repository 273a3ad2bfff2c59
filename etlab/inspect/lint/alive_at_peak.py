"""Large activations that make the memory peak as high as it is."""

from collections.abc import Iterator
from pathlib import Path

from etlab.exir.provenance import short_operator
from etlab.inspect.lint.base import Finding, Rule, Subject

_LARGE = 0.25  # of all bytes alive at the peak
_LONG = 3  # instructions


def check(subject: Subject) -> Iterator[Finding]:
    """The large ones, the largest first."""
    plan = subject.memory
    if not plan.tensors:
        return
    step = plan.peak_step
    alive = plan.live_bytes[step]
    held = sorted(plan.at(step), key=lambda tensor: (-tensor.nbytes, tensor.id))
    for tensor in held:
        if tensor.nbytes < _LARGE * alive or tensor.operator in ("input", "state"):
            continue
        kept = tensor.last_use - tensor.first_use
        remedy = (
            f"it waits {kept} instructions for its last reader: compute it later, or again"
            if kept > _LONG
            else "smaller inputs, a quantizer, or an operator that shares its input's memory"
        )
        yield Finding(
            RULE.name,
            subject.method,
            tensor.name,
            short_operator(tensor.operator),
            tensor.module,
            Path(tensor.source).name,
            "",
            tensor.nbytes,
            f"{tensor.nbytes / alive:.0%} of the {alive:,} bytes alive at the peak, instruction"
            f" {step} ({plan.steps[step]}); it lives from {tensor.first_use} to {tensor.last_use}",
            remedy,
        )


RULE = Rule("alive-at-peak", "large activations that make the peak as high as it is", check)
