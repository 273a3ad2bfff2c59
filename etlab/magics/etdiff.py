"""`%etdiff`: what differs between two programs."""

from typing import Any

from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.subjects import run_or_program
from etlab.magics.support import (
    as_call,
    check_name,
    common_options,
    finish,
    one_line_errors,
    split_names,
)


@magics_class
class DiffMagics(Magics):
    """`%etdiff`."""

    @magic_arguments()
    @argument("before", help="a run, a program or the path of a .pte file")
    @argument("after", help="another one")
    @argument("--only", metavar="SECTION,…", help="methods, signature, graph, operators, weights, "
              "plan, delegates, bytes")  # fmt: skip
    @argument("--exit-code", action="store_true", help="give 0 for nothing, 1 for something")
    @common_options
    @line_magic
    def etdiff(self, line: str) -> Any:
        """Say what differs between two programs.

        `%etdiff run small`, `%etdiff a.pte b.pte --only operators,bytes`. Gives a `ProgramDiff`.
        """
        arguments = parse_argstring(self.etdiff, line)
        name = check_name(arguments.name)
        with one_line_errors("etdiff", "call etlab.diff yourself for the traceback"):
            from etlab.inspect.diff import diff

            pairs = [
                run_or_program(self.shell, [text], "etdiff")
                for text in (arguments.before, arguments.after)
            ]
            only = split_names(arguments.only)
            result: Any = diff(pairs[0][1], pairs[1][1])
            code = as_call("etlab.diff", [pairs[0][0], pairs[1][0]], {})
            if only:
                result, code = (
                    result.only(*only),
                    as_call(f"{code}.only", [repr(one) for one in only], {}),
                )
            if arguments.exit_code:
                result, code = result.exit_code, f"{code}.exit_code"
        return finish(
            self.shell,
            result,
            f"{name or 'difference'} = {code}",
            name=name,
            print_code=arguments.print_code,
        )


MAGICS = DiffMagics
