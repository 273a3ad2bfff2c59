"""`%etprofile`: where the time goes."""

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.subjects import run_or_program
from etlab.magics.support import (
    as_call,
    check_name,
    common_options,
    evaluate,
    finish,
    one_line_errors,
    text_of,
)
from etlab.run import ExportRun

_TABLES = {"op": "by_operator", "module": "by_module", "source": "by_source", "node": "by_node",
           "delegate": "by_part"}  # fmt: skip


@magics_class
class ProfileMagics(Magics):
    """`%etprofile`."""

    @magic_arguments()
    @argument("subject", nargs="*", help="a run, a program or the path of a .pte file")
    @argument("-i", "--inputs", nargs="+", metavar="EXPR", help="tensor or tuple; default: example")
    @argument("--runs", type=int, default=20, metavar="N", help="with tracing and without")
    @argument("--warmup", type=int, default=3, metavar="N", help="runs before")
    @argument("--threads", type=int, metavar="N", help="of the kernels")
    @argument("--by", choices=tuple(_TABLES), help="a table by this instead of the report")
    @argument("--baseline", nargs="+", metavar="RUN", help="compare with this run or program")
    @argument("--trace", metavar="FILE", help="write a trace for Chrome's and Perfetto's viewers")
    @common_options
    @line_magic
    def etprofile(self, line: str) -> Any:
        """Measure a program operator by operator, inside of delegates as well.

        `%etprofile run --runs 50`, `%etprofile run --by module`, `%etprofile small --baseline run`.
        Gives a `ProfileReport`, or a table.
        """
        arguments = parse_argstring(self.etprofile, line)
        name = check_name(arguments.name)
        by = _TABLES[arguments.by] if arguments.by else None
        with one_line_errors("etprofile", "call run.profile yourself for the traceback"):
            lines, report = self._measure(arguments, arguments.subject)
            result, expression = report, "report"
            if arguments.trace:
                report.save_chrome_trace(arguments.trace)
                lines.append(f"report.save_chrome_trace({arguments.trace!r})")
            if arguments.baseline:
                more, baseline = self._measure(arguments, arguments.baseline)
                lines.append(more[0].replace("report =", "baseline =", 1))
                result = report.versus(baseline, by=by or "by_operator")
                expression = f"report.versus(baseline{f', by={by!r}' if by else ''})"
            elif by:
                result, expression = getattr(report, by), f"report.{by}"
            if name or expression != "report":
                lines.append(f"{name or 'table'} = {expression}")
        return finish(
            self.shell, result, "\n".join(lines), name=name, print_code=arguments.print_code
        )

    def _measure(self, arguments: Any, parts: list[str]) -> tuple[list[str], Any]:
        text, subject = run_or_program(self.shell, parts, "etprofile")
        inputs = text_of(arguments.inputs)
        if inputs is None and not isinstance(subject, ExportRun):
            raise UsageError("etprofile: a program file needs --inputs, as in -i x")
        value = None if inputs is None else evaluate(self.shell, inputs, "--inputs")
        numbers = {
            "runs": arguments.runs if arguments.runs != 20 else None,
            "warmup": arguments.warmup if arguments.warmup != 3 else None,
            "threads": arguments.threads,
        }
        texts = {key: None if given is None else str(given) for key, given in numbers.items()}
        call = as_call(f"{text}.profile", [inputs] if inputs else [], texts)
        report = subject.profile(
            value, runs=arguments.runs, warmup=arguments.warmup, threads=arguments.threads
        )
        return [f"report = {call}"], report


MAGICS = ProfileMagics
