"""The options of `etlab.export` on a magic's line, and the export that they ask for."""

import argparse
import itertools
import types
from dataclasses import dataclass
from typing import Any

import torch
from IPython.core.error import UsageError
from IPython.core.magic_arguments import argument

from etlab.magics.progress import progress
from etlab.magics.support import as_call, evaluate, text_of


def export_options(function: Any) -> Any:
    """The options of `etlab.export`, shared by the magics that may export."""
    options = [
        argument("-p", "--partitioner", action="append", metavar="NAME[:KEY=VALUE,…]",
                 help="who gets parts of the graph (etlab.list_partitioners()); may repeat"),
        argument("-q", "--quantizer", metavar="NAME[:KEY=VALUE,…]",
                 help="how to make the model smaller (etlab.list_quantizers())"),
        argument("-c", "--calibration", nargs="+", metavar="EXPR",
                 help="samples: a list of tuples of arguments, a DataLoader, any iterable"),
        argument("--calib-steps", type=int, metavar="N",
                 help="take the first N samples of the calibration data only"),
        argument("--dynamic-shapes", nargs="+", metavar="EXPR",
                 help="as torch.export.export takes them"),
        argument("--strict", action=argparse.BooleanOptionalAction, default=False,
                 help="capture with torch.export's strict tracer"),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@dataclass(frozen=True)
class ExportRequest:
    """What a magic's line asks `etlab.export` for.

    Attributes:
        model: to export.
        inputs: example arguments of one call.
        options: keywords of `etlab.export`.
        code: the call that does the same.
        imports: modules that the code needs beside etlab.
    """

    model: torch.nn.Module
    inputs: Any
    options: dict[str, Any]
    code: str
    imports: tuple[str, ...] = ()

    def run(self, shell: Any) -> Any:
        """The `ExportRun`, with progress shown."""
        from etlab.exporting import export

        with progress(shell):
            return export(self.model, self.inputs, **self.options)


def export_request(
    shell: Any, model: torch.nn.Module, text: str, arguments: types.SimpleNamespace
) -> ExportRequest:
    """What the options of `export_options` ask for.

    Args:
        shell: whose names expressions use.
        model: to export.
        text: the expression for it.
        arguments: the parsed line.

    Raises:
        UsageError: inputs are missing, or an expression fails.
        EtlabError: no partitioner or quantizer has such a name or parameter.
    """
    from etlab.choices import as_partitioners, as_quantizer

    inputs = text_of(arguments.inputs)
    if inputs is None:
        raise UsageError("--inputs is needed: example inputs, as in --inputs x")
    example = evaluate(shell, inputs, "--inputs")
    example_text = inputs
    if isinstance(example, list):
        if not example or not isinstance(example[0], tuple):
            raise UsageError(f"--inputs {inputs}: a list must hold tuples of arguments")
        example, example_text = example[0], f"({inputs})[0]"
    calibration = text_of(arguments.calibration)
    dynamic_shapes = text_of(arguments.dynamic_shapes)
    chosen = arguments.partitioner
    partitioner = chosen[0] if chosen and len(chosen) == 1 else chosen
    as_partitioners(partitioner)
    as_quantizer(arguments.quantizer)
    options: dict[str, Any] = {}
    texts: dict[str, str | None] = {}
    imports: tuple[str, ...] = ()
    for name, value in (("partitioner", partitioner), ("quantizer", arguments.quantizer)):
        if value:
            options[name], texts[name] = value, repr(value)
    if calibration is not None:
        samples = evaluate(shell, calibration, "--calibration")
        if arguments.calib_steps is not None:
            samples, calibration = _first(samples, calibration, arguments.calib_steps)
            imports = ("itertools",)
        options["calibration"], texts["calibration"] = samples, calibration
    elif arguments.calib_steps is not None:
        raise UsageError("--calib-steps needs --calibration: samples to take the first of")
    if dynamic_shapes is not None:
        shapes = evaluate(shell, dynamic_shapes, "--dynamic-shapes")
        options["dynamic_shapes"], texts["dynamic_shapes"] = shapes, dynamic_shapes
    if arguments.strict:
        options["strict"], texts["strict"] = True, "True"
    code = as_call("etlab.export", [text, example_text], texts)
    return ExportRequest(model, example, options, code, imports)


def _first(samples: Any, text: str, count: int) -> tuple[Any, str]:
    if count < 1:
        raise UsageError(f"--calib-steps {count}: expected 1 or more")
    if isinstance(samples, torch.Tensor | tuple):
        raise UsageError(f"--calib-steps: {text} is a single sample; give a list of samples")
    try:
        first = list(itertools.islice(samples, count))
    except TypeError:
        raise UsageError(f"--calibration {text}: it cannot be iterated over") from None
    return first, f"list(itertools.islice({text}, {count}))"
