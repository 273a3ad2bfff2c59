"""`%etwhy`: who computes an operator, and why."""

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.subjects import only_run
from etlab.magics.support import evaluate, one_line_errors, text_of
from etlab.run import ExportRun

_GROUPS = {"reason": "reasons", "op": "by_op", "module": "by_module"}


@magics_class
class WhyMagics(Magics):
    """Questions about delegation."""

    @magic_arguments()
    @argument("subject", nargs="*", help="[RUN] and an operator, a node, a module's path or a part")
    @argument("-n", "--name", metavar="RUN", help="the run to ask; default: `run`, or the only one")
    @argument("--group", choices=tuple(_GROUPS), help="a table of all calls, grouped so")
    @argument("--runs", type=int, default=0, metavar="N", help="measure times over N native runs")
    @argument("--print-code", action="store_true", help="print the Python that does the same")
    @line_magic
    def etwhy(self, line: str) -> Any:
        """Say which delegate took an operator, or why none did and what would help.

        `%etwhy layer_norm`, `%etwhy small layers.0`; without a subject: the whole report. Gives
        what `run.delegation().why("…")` gives.
        """
        arguments = parse_argstring(self.etwhy, line)
        with one_line_errors("etwhy", "call run.delegation() yourself for the traceback"):
            name, run, rest = self._run(arguments.name, arguments.subject)
            subject = text_of(rest)
            if subject is not None and arguments.group:
                raise UsageError(f"etwhy: --group is about all calls, not about {subject}")
            result: Any = run.delegation(runs=arguments.runs)
            code = f"{name}.delegation({f'runs={arguments.runs}' if arguments.runs else ''})"
            if arguments.group:
                table = _GROUPS[arguments.group]
                result, code = getattr(result, table), f"{code}.{table}"
            if subject is not None:
                result, code = result.why(subject), f"{code}.why({subject!r})"
        if arguments.print_code:
            print(code)
        return result

    def _run(self, name: str | None, words: list[str]) -> tuple[str, ExportRun, list[str]]:
        """The expression of the run to ask, the run, and the words that are left."""
        if name is not None:
            value = evaluate(self.shell, name, "-n")
            if not isinstance(value, ExportRun):
                raise UsageError(f"-n {name} is {type(value).__name__}, not an ExportRun")
            return name, value, words
        names = self.shell.user_ns if self.shell is not None else {}
        if words and isinstance(names.get(words[0]), ExportRun):
            return words[0], names[words[0]], words[1:]
        return *only_run(self.shell, "etwhy"), words


MAGICS = WhyMagics
