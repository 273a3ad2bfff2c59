"""`%%etsweep`: every partitioner with every quantizer."""

import ast
import re
import time
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.progress import progress
from etlab.magics.support import (
    as_call,
    check_name,
    common_options,
    evaluate,
    finish,
    one_line_errors,
    split_names,
    text_of,
)

_AXES = {"partitioner": "partitioners", "quantizer": "quantizers"}
_AXES |= {plural: plural for plural in _AXES.values()}


@magics_class
class SweepMagics(Magics):
    """`%%etsweep`."""

    @magic_arguments()
    @argument("model", nargs="+", help="expression for the model, or for a function that makes it")
    @argument("-i", "--inputs", nargs="+", metavar="EXPR", help="example inputs: tensor or tuple")
    @argument("-c", "--calibration", nargs="+", metavar="EXPR", help="samples for the quantizers")
    @argument("--metric", metavar="NAME", help="of closeness to eager; default: sqnr_db")
    @argument("--objectives", metavar="NAME,…", help="size, latency, memory, arena, or metrics")
    @argument("--jobs", type=int, metavar="N", help="worker processes; 0 stays in this one")
    @argument("--resume", metavar="FILE", help="the Parquet file that keeps the results")
    @argument("--budget", type=float, metavar="SECONDS", help="begin nothing new after this")
    @common_options
    @line_cell_magic
    def etsweep(self, line: str, cell: str | None = None) -> Any:
        """Export a model with every partitioner and quantizer, and measure what comes out.

        The cell holds the axes, as a Python dict or line by line:

            %%etsweep model -i x --objectives size,latency
            partitioner: none, xnnpack
            quantizer: none, int8-weights, 8da4w:group_size=64

        Gives an `etlab.Sweep`; `.pareto` and `.best("size<4MB")` choose.
        """
        arguments = parse_argstring(self.etsweep, line)
        name = check_name(arguments.name)
        with one_line_errors("etsweep", "call etlab.sweep yourself for the traceback"):
            axes = read_axes(cell) if cell else {}
            text, inputs = text_of(arguments.model) or "", text_of(arguments.inputs)
            if inputs is None:
                raise UsageError("--inputs is needed: example inputs, as in --inputs x")
            model = evaluate(self.shell, text, "etsweep")
            example = evaluate(self.shell, inputs, "--inputs")
            given: dict[str, Any] = {
                **axes,
                "metric": arguments.metric,
                "objectives": split_names(arguments.objectives),
                "workers": arguments.jobs,
                "file": arguments.resume,
            }
            given = {key: value for key, value in given.items() if value is not None}
            texts: dict[str, str | None] = {key: repr(value) for key, value in given.items()}
            if (calibration := text_of(arguments.calibration)) is not None:
                given["calibration"] = evaluate(self.shell, calibration, "--calibration")
                texts["calibration"] = calibration
            with progress(self.shell):
                result = _sweep(model, example, given, arguments.budget)
        variable = name or "sweep"
        code = f"{variable} = {as_call('etlab.sweep', [text, inputs], texts)}"
        imports: list[str] = []
        if arguments.budget is not None:
            imports = ["time", "from etlab.run import StageListener, listen"]
            code = (
                f"end = time.monotonic() + {arguments.budget:g}\n"
                "with listen(StageListener(should_stop=lambda: time.monotonic() > end)):\n"
                f"    {code}"
            )
        return finish(
            self.shell, result, code, name=name, print_code=arguments.print_code, imports=imports
        )


def _sweep(model: Any, example: Any, options: dict[str, Any], budget: float | None) -> Any:
    from etlab.exir.stages import StageListener, current, listen
    from etlab.sweeping import sweep

    if budget is None:
        return sweep(model, example, **options)
    end = time.monotonic() + budget
    outer = current() or StageListener()
    limited = StageListener(outer.on_start, lambda: time.monotonic() > end, outer.on_part)
    with listen(limited):
        return sweep(model, example, **options)


def read_axes(text: str) -> dict[str, list[Any]]:
    r"""The axes of a sweep from a cell: a Python dict, or lines of `name: item, item`.

    >>> read_axes("partitioner: none, xnnpack\nquantizer: int8:a=1,b=2")
    {'partitioners': ['none', 'xnnpack'], 'quantizers': ['int8:a=1,b=2']}

    Items are parted by a comma and a space; a comma alone stands between parameters.

    Raises:
        UsageError: it is neither, or names something else than partitioners and quantizers.
    """
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError):
        found = dict(map(_axis, _lines(text)))
    if not isinstance(found, dict):
        raise UsageError(f"etsweep: expected a dict or lines, got {type(found).__name__}")
    axes: dict[str, list[Any]] = {}
    for key, value in found.items():
        if key not in _AXES:
            raise UsageError(f"etsweep: no axis '{key}': choose from partitioner, quantizer")
        axes[_AXES[key]] = list(value) if isinstance(value, list | tuple) else [value]
    return axes


def _lines(text: str) -> list[str]:
    lines = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in lines if line]


def _axis(line: str) -> tuple[str, list[Any]]:
    name, colon, rest = line.partition(":")
    if not colon:
        raise UsageError(f"etsweep: '{line}': expected 'partitioner: …' or 'quantizer: …'")
    rest = rest.strip()
    try:
        value = ast.literal_eval(rest)
        return name.strip(), value if isinstance(value, list) else [value]
    except (ValueError, SyntaxError):
        items = re.split(r",\s+", rest.removeprefix("[").removesuffix("]"))
        return name.strip(), [item.strip() for item in items if item.strip()]


MAGICS = SweepMagics
