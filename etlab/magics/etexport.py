"""`%etexport`: from a model to a program, with every stage kept."""

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_cell_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.exporting import export_options, export_request
from etlab.magics.subjects import check_model, subject_of
from etlab.magics.support import (
    check_name,
    common_options,
    finish,
    one_line_errors,
    split_names,
    text_of,
)

SHOWN = {
    "graph": ".graph()",
    "delegation": ".delegation()",
    "memory": ".memory_plan()",
    "size": ".size()",
    "lint": ".lint()",
}


@magics_class
class ExportMagics(Magics):
    """`%etexport`."""

    @magic_arguments()
    @argument("model", nargs="*", help="expression for the model; a cell's last value otherwise")
    @argument("-i", "--inputs", nargs="+", metavar="EXPR", help="example inputs: tensor or tuple")
    @export_options
    @argument("-o", "--output", metavar="FILE", help="write the program to this .pte file")
    @argument("--etrecord", metavar="FILE", help="write an ETRecord for an Inspector")
    @argument("--show", metavar="WHAT,…", help=f"show afterwards: {', '.join(SHOWN)}")
    @argument("--dry-run", action="store_true", help="check what was typed, print the Python only")
    @argument("-v", "--verbose", action="store_true", help="the time of every stage, and notes")
    @common_options
    @line_cell_magic
    def etexport(self, line: str, cell: str | None = None) -> Any:
        """Export a model to a .pte program and keep every stage of it.

        `%etexport model --inputs x -q int8-weights -o model.pte -n run`, or a cell whose last
        expression is the model. Gives an `etlab.ExportRun`.
        """
        arguments = parse_argstring(self.etexport, line)
        name = check_name(arguments.name)
        with one_line_errors("etexport", "call etlab.export yourself for the traceback"):
            shown = _check_shown(split_names(arguments.show) or [])
            text, model = subject_of(self.shell, arguments.model, cell, "etexport")
            request = export_request(self.shell, check_model(model, text), text, arguments)
            variable = name or "run"
            lines = [f"{variable} = {request.code}"]
            output, record = text_of(arguments.output), text_of(arguments.etrecord)
            if output:
                lines.append(f"{variable}.save({output!r})")
            if record:
                lines.append(f"{variable}.etrecord.save({record!r})")
            lines += [f"display({variable}{SHOWN[one]})" for one in shown]
            imports = [*request.imports]
            if shown:
                imports.append("from IPython.display import display")
            if arguments.dry_run:
                return finish(self.shell, None, "\n".join(lines), print_code=True, imports=imports)
            run = request.run(self.shell)
            if output:
                run.save(output)
            if record:
                run.etrecord.save(record)
            _show(run, shown)
        if arguments.verbose:
            print("\n".join([f"{one}: {seconds:.2f} s" for one, seconds in run.seconds.items()]))
            print("\n".join(f"note: {note}" for note in run.notes) or "no notes")
        return finish(
            self.shell,
            run,
            "\n".join(lines),
            name=name,
            print_code=arguments.print_code,
            imports=imports,
        )


def _check_shown(names: list[str]) -> list[str]:
    for name in names:
        if name not in SHOWN:
            raise UsageError(f"--show {name}: choose from {', '.join(SHOWN)}")
    return names


def _show(run: Any, names: list[str]) -> None:
    from IPython.display import display

    for name in names:
        method = SHOWN[name].strip(".()")
        display(getattr(run, method)())


MAGICS = ExportMagics
