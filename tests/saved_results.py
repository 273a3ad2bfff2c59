"""One of every kind of result that a notebook can show, of a small model."""

import torch
from torch import nn

import etlab


def small_run():
    """A run with a delegate, integers and calls that stay."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 33), nn.LayerNorm(33), nn.Tanh(), nn.Linear(33, 3)).eval()
    inputs = torch.linspace(-1, 1, 15).reshape(3, 5)
    samples = [(inputs * step,) for step in (0.5, 0.75, 1.0)]
    return etlab.export(
        model, inputs, partitioner="xnnpack", quantizer="int8", calibration=samples, name="net"
    )


def results_of(run, folder):
    """Every kind of result by name."""
    plain = etlab.export(run.model, run.example_inputs, name="net")
    parity = run.parity(paths=["eager", "native"])
    return {
        "run": run,
        "file": run.file,
        "anatomy": run.file.anatomy,
        "parity": parity,
        "layers": parity.layers,
        "worst": parity.worst(2),
        "tensors": run.tensors("linear"),
        "delegation": run.delegation(),
        "why": run.delegation().why("linear"),
        "reasons": run.delegation().reasons,
        "memory plan": run.memory_plan(),
        "what if": run.memory_plan().what_if(),
        "memory": run.memory(),
        "profile": run.profile(runs=1, warmup=0),
        "size": run.size(),
        "lint": run.lint(),
        "graph": run.graph(),
        "comparison": etlab.compare(run, stages=["aten", "delegated"]),
        "passes": run.passes(),
        "diff": etlab.diff(plain, run),
        "sensitivity": etlab.sensitivity(run.model, run.example_inputs, quantizer="int8"),
        "sweep": etlab.sweep(
            run.model,
            run.example_inputs,
            quantizers=["none", "fp16"],
            objectives=["size"],
            file=folder / "sweep.parquet",
            workers=0,
        ),
        "choices": etlab.list_quantizers(),
    }
