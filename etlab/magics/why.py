"""`%etwhy`: who computes an operator, and why."""

from typing import TYPE_CHECKING, Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.support import evaluate, one_line_errors, text_of

if TYPE_CHECKING:
    from etlab.run import ExportRun


@magics_class
class WhyMagics(Magics):
    """Questions about delegation."""

    @magic_arguments()
    @argument("subject", nargs="*", help="an operator, a node, a module's path or a part")
    @argument("-n", "--name", metavar="RUN", help="the run to ask; default: `run`, or the only one")
    @argument("--runs", type=int, default=0, metavar="N", help="measure times over N native runs")
    @argument("--print-code", action="store_true", help="print the Python that does the same")
    @line_magic
    def etwhy(self, line: str) -> Any:
        """Say which delegate took an operator, or why none did and what would help.

        `%etwhy layer_norm`, `%etwhy layers.0 -n small`; without a subject: the whole report. Gives
        what `run.delegation().why("…")` gives.
        """
        arguments = parse_argstring(self.etwhy, line)
        subject = text_of(arguments.subject)
        with one_line_errors("etwhy", "call run.delegation() yourself for the traceback"):
            name, run = self._run(arguments.name)
            result: Any = run.delegation(runs=arguments.runs)
            code = f"{name}.delegation({f'runs={arguments.runs}' if arguments.runs else ''})"
            if subject is not None:
                result, code = result.why(subject), f"{code}.why({subject!r})"
        if arguments.print_code:
            print(code)
        return result

    def _run(self, name: str | None) -> "tuple[str, ExportRun]":
        """The run to ask, and the expression for it."""
        from etlab.run import ExportRun

        if name is not None:
            value = evaluate(self.shell, name, "-n")
            if not isinstance(value, ExportRun):
                raise UsageError(f"-n {name} is {type(value).__name__}, not an ExportRun")
            return name, value
        names = self.shell.user_ns if self.shell is not None else {}
        found = {
            key: value
            for key, value in names.items()
            if isinstance(value, ExportRun) and not key.startswith("_")
        }
        if "run" in found:
            return "run", found["run"]
        if len({id(value) for value in found.values()}) == 1:
            return next(iter(found.items()))
        if not found:
            raise UsageError("etwhy: no run yet: make one with %etexport … -n run")
        raise UsageError(f"etwhy: several runs, say which: -n {' or -n '.join(sorted(found))}")
