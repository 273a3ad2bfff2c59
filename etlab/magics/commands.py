"""`%etexport` and `%etparity`, in line and cell form."""

import re
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.progress import progress
from etlab.magics.support import (
    as_call,
    check_model,
    check_name,
    evaluate,
    evaluate_cell,
    one_line_errors,
    split_names,
    text_of,
)


def _export_options(function: Any) -> Any:
    """The options of `etlab.export`, shared by the magics that may export."""
    options = [
        argument("-p", "--partitioner", action="append", metavar="NAME[:KEY=VALUE,…]",
                 help="who gets parts of the graph (etlab.list_partitioners()); may repeat"),
        argument("-q", "--quantizer", metavar="NAME[:KEY=VALUE,…]",
                 help="how to make the model smaller (etlab.list_quantizers())"),
        argument("-c", "--calibration", nargs="+", metavar="EXPR",
                 help="a list of samples, each a tuple of arguments"),
        argument("--dynamic-shapes", nargs="+", metavar="EXPR",
                 help="as torch.export.export takes them"),
        argument("-n", "--name", metavar="VAR", help="also put the result into this variable"),
        argument("--print-code", action="store_true",
                 help="print the Python that does the same"),
    ]  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


@magics_class
class EtlabMagics(Magics):
    """The magics of etlab."""

    @magic_arguments()
    @argument("model", nargs="*", help="expression for the model; a cell's last value otherwise")
    @argument("-i", "--inputs", nargs="+", metavar="EXPR", help="example inputs: tensor or tuple")
    @_export_options
    @argument("-o", "--output", metavar="FILE", help="write the program to this .pte file")
    @line_cell_magic
    def etexport(self, line: str, cell: str | None = None) -> Any:
        """Export a model to a .pte program and keep every stage of it.

        `%etexport model --inputs x -q int8-weights -o model.pte -n run`, or a cell whose last
        expression is the model. Gives an `etlab.ExportRun`.
        """
        arguments = parse_argstring(self.etexport, line)
        name = check_name(arguments.name)
        with one_line_errors("etexport", "call etlab.export yourself for the traceback"):
            text, model = self._subject(arguments.model, cell, "etexport")
            run, code = self._export(check_model(model, text), text, arguments)
            code = f"{name or 'run'} = {code}"
            if arguments.output:
                output = text_of(arguments.output)
                run.save(output)
                code += f"\n{name or 'run'}.save({output!r})"
            return self._finish(run, name, code, print_code=arguments.print_code)

    @magic_arguments()
    @argument("subject", nargs="*", help="expression for an ExportRun or a model")
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
    @_export_options
    @line_cell_magic
    def etparity(self, line: str, cell: str | None = None) -> Any:
        """Compare what every path computes with eager, on the same inputs.

        `%etparity run` or `%etparity model --inputs x -q int8-weights`. Gives an
        `etlab.numerics.ParityReport`, or with `--top` the worst operators of it.
        """  # fmt: skip
        from etlab.run import ExportRun

        arguments = parse_argstring(self.etparity, line)
        name = check_name(arguments.name)
        with one_line_errors("etparity", "call run.parity yourself for the traceback"):
            bounds = _bounds(arguments.check) if arguments.check else {}
            text, subject = self._subject(arguments.subject, cell, "etparity")
            inputs = text_of(arguments.inputs)
            samples = evaluate(self.shell, inputs, "--inputs") if inputs else None
            lines = []
            if not isinstance(subject, ExportRun):
                model = check_model(subject, text)
                subject, code = self._export(model, text, arguments)
                lines.append(f"run = {code}")
                text = "run"
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
            if arguments.top:
                worst = report.worst(arguments.top)
                lines.append(f"{name or 'report'}.worst({arguments.top})")
                return self._finish(worst, name, "\n".join(lines), print_code=arguments.print_code)
            return self._finish(report, name, "\n".join(lines), print_code=arguments.print_code)

    def _subject(self, parts: list[str], cell: str | None, magic: str) -> tuple[str, Any]:
        """The expression that a magic is about, and its value."""
        text = text_of(parts)
        if cell is not None:
            value = evaluate_cell(self.shell, cell)
            return text or "model", evaluate(self.shell, text, magic) if text else value
        if text is None:
            raise UsageError(f"{magic}: say what to work on, as in %{magic} model --inputs x")
        return text, evaluate(self.shell, text, magic)

    def _export(self, model: Any, text: str, arguments: Any) -> tuple[Any, str]:
        """Export with the options of the line; the run, and the call that does the same."""
        from etlab.exporting import export

        inputs = text_of(arguments.inputs)
        if inputs is None:
            raise UsageError("--inputs is needed: example inputs, as in --inputs x")
        example = evaluate(self.shell, inputs, "--inputs")
        example_text = inputs
        if isinstance(example, list):
            if not example or not isinstance(example[0], tuple):
                raise UsageError(f"--inputs {inputs}: a list must hold tuples of arguments")
            example, example_text = example[0], f"({inputs})[0]"
        texts: dict[str, str | None] = {
            "partitioner": _repr_of(arguments.partitioner),
            "quantizer": repr(arguments.quantizer) if arguments.quantizer else None,
            "calibration": text_of(arguments.calibration),
            "dynamic_shapes": text_of(arguments.dynamic_shapes),
        }
        chosen = arguments.partitioner
        values = {
            "partitioner": chosen[0] if chosen and len(chosen) == 1 else chosen,
            "quantizer": arguments.quantizer,
            **{
                key: evaluate(self.shell, value, f"--{key.replace('_', '-')}")
                for key in ("calibration", "dynamic_shapes")
                if (value := texts[key]) is not None
            },
        }
        with progress(self.shell):
            run = export(model, example, **values)
        return run, as_call("etlab.export", [text, example_text], texts)

    def _finish(self, result: Any, name: str | None, code: str, *, print_code: bool) -> Any:
        if name is not None and self.shell is not None:
            self.shell.push({name: result})
        if print_code:
            print(f"import etlab\n\n{code}")
        return result


def _repr_of(partitioners: list[str] | None) -> str | None:
    if not partitioners:
        return None
    return repr(partitioners[0] if len(partitioners) == 1 else partitioners)


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
