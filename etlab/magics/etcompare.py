"""`%etcompare`: graphs side by side."""

from typing import Any

from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.subjects import only_run
from etlab.magics.support import (
    as_call,
    check_name,
    common_options,
    evaluate,
    finish,
    one_line_errors,
    split_names,
)


@magics_class
class CompareMagics(Magics):
    """`%etcompare`."""

    @magic_arguments()
    @argument("subjects", nargs="*", help="runs or graphs, each an expression without spaces")
    @argument("--stages", metavar="STAGE,…", help="of every run: aten, quantized, edge, delegated")
    @common_options
    @line_magic
    def etcompare(self, line: str) -> Any:
        """Put stages of a run, or several runs, side by side: added, removed, changed.

        `%etcompare run`, `%etcompare run small`, `%etcompare run --stages aten,delegated`. Nodes
        belong together by where they came from. Gives a `GraphComparison`.
        """
        arguments = parse_argstring(self.etcompare, line)
        name = check_name(arguments.name)
        with one_line_errors("etcompare", "call etlab.compare yourself for the traceback"):
            from etlab.inspect.graph_compare import compare

            texts = list(arguments.subjects)
            if texts:
                values = [evaluate(self.shell, text, "etcompare") for text in texts]
            else:
                text, run = only_run(self.shell, "etcompare")
                texts, values = [text], [run]
            stages = split_names(arguments.stages)
            result = compare(*values, stages=stages)
            call = as_call("etlab.compare", texts, {"stages": repr(stages) if stages else None})
        return finish(
            self.shell,
            result,
            f"{name or 'comparison'} = {call}",
            name=name,
            print_code=arguments.print_code,
        )


MAGICS = CompareMagics
