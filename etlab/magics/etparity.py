"""`%etparity`: what every path computes, beside eager."""

import re
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.exporting import export_options, export_request
from etlab.magics.progress import progress
from etlab.magics.subjects import check_model, only_run, subject_of
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


@magics_class
class ParityMagics(Magics):
    """`%etparity`."""

    @magic_arguments()
    @argument("subject", nargs="*", help="expression for an ExportRun or a model; default: the run")
    @argument(
        "-i",
        "--inputs",
        nargs="+",
        metavar="EXPR",
        help="tensor, tuple of arguments, or a list of tuples; default: calibration data",
    )
    @argument("--reference", default="eager", help="the path that is right by definition")
    @argument("--paths", help="comma-separated; all that exist by default")
    @argument("--metrics", help="comma-separated; the standard ones by default")
    @argument("--no-layers", action="store_true", help="compare outputs only, no operators")
    @argument("--no-local", action="store_true", help="do not run the program's steps one by one")
    @argument("--simulate", metavar="BACKEND", help="its arithmetic for the path 'quantized'")
    @argument("--top", type=int, metavar="N", help="give the N worst operators instead")
    @argument("--check", metavar="BOUNDS", help="fail unless kept: sqnr_db>=40,max_abs<=1e-3")
    @export_options
    @common_options
    @line_cell_magic
    def etparity(self, line: str, cell: str | None = None) -> Any:
        """Compare what every path computes with eager, on the same inputs.

        `%etparity run` or `%etparity model --inputs x -q int8-weights`. Gives an
        `etlab.numerics.ParityReport`, or with `--top` the worst operators of it.
        """
        from etlab.run import ExportRun

        arguments = parse_argstring(self.etparity, line)
        name = check_name(arguments.name)
        with one_line_errors("etparity", "call run.parity yourself for the traceback"):
            bounds: dict[str, Any] = _bounds(arguments.check) if arguments.check else {}
            if cell is None and not arguments.subject:
                text, subject = only_run(self.shell, "etparity")
            else:
                text, subject = subject_of(self.shell, arguments.subject, cell, "etparity")
            inputs = text_of(arguments.inputs)
            lines, imports = [], ()
            if not isinstance(subject, ExportRun):
                request = export_request(self.shell, check_model(subject, text), text, arguments)
                subject, imports = request.run(self.shell), request.imports
                lines.append(f"run = {request.code}")
                text = "run"
            samples = evaluate(self.shell, inputs, "--inputs") if inputs else None
            paths, metrics = split_names(arguments.paths), split_names(arguments.metrics)
            with progress(self.shell):
                report = subject.parity(
                    samples,
                    reference=arguments.reference,
                    paths=paths,
                    metrics=metrics,
                    layers=not arguments.no_layers,
                    local=not arguments.no_local,
                    simulate=arguments.simulate,
                )
            keywords = {
                "reference": None if arguments.reference == "eager" else repr(arguments.reference),
                "paths": repr(paths) if paths else None,
                "metrics": repr(metrics) if metrics else None,
                "layers": "False" if arguments.no_layers else None,
                "local": "False" if arguments.no_local else None,
                "simulate": repr(arguments.simulate) if arguments.simulate else None,
            }
            call = as_call(f"{text}.parity", [inputs] if inputs else [], keywords)
            lines.append(f"{name or 'report'} = {call}")
            if bounds:
                report.check(**bounds)
                checks: dict[str, str | None] = {key: f"{value:g}" for key, value in bounds.items()}
                lines.append(as_call(f"{name or 'report'}.check", [], checks))
            result: Any = report
            if arguments.top:
                result = report.worst(arguments.top)
                lines.append(f"{name or 'report'}.worst({arguments.top})")
        return finish(
            self.shell,
            result,
            "\n".join(lines),
            name=name,
            print_code=arguments.print_code,
            imports=imports,
        )


def _bounds(text: str) -> dict[str, float]:
    """`sqnr_db>=40,max_abs<=1e-3` as keywords of `ParityReport.check`.

    Raises:
        UsageError: a part is no bound, or on the wrong side for its metric.
    """
    from etlab.numerics import metric

    bounds = {}
    for part in (text_of(text) or "").split(","):
        match = re.fullmatch(r"\s*(\w+)\s*(>=|<=)\s*([-+.\w]+)\s*", part)
        if match is None:
            raise UsageError(f"--check {part}: expected metric>=number or metric<=number")
        name, sign, number = match.groups()
        wanted = ">=" if metric(name).higher_is_better else "<="
        if sign != wanted:
            raise UsageError(f"--check {part}: bounds of {name} are written {name}{wanted}number")
        try:
            bounds[name] = float(number)
        except ValueError:
            raise UsageError(f"--check {part}: '{number}' is no number") from None
    return bounds


MAGICS = ParityMagics
