"""`%etreport`: one HTML file and JSON."""

import webbrowser
from pathlib import Path
from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.subjects import only_run
from etlab.magics.support import as_call, evaluate, one_line_errors, text_of


@magics_class
class ReportMagics(Magics):
    """`%etreport`."""

    @magic_arguments()
    @argument("subject", nargs="*", help="a run, a report, a plan, a graph, … or a list of them")
    @argument("-o", "--output", metavar="FILE", help="default: report.html")
    @argument("--json", metavar="FILE", help="default: beside the page, with the ending .json")
    @argument("--title", nargs="+", help="of the page")
    @argument("--open", action="store_true", help="open it in a browser")
    @argument("--print-code", action="store_true", help="print the Python that does the same")
    @line_magic
    def etreport(self, line: str) -> Any:
        """Write a page that needs no network and no kernel, and the same numbers as JSON.

        `%etreport run -o cat.html`, `%etreport [report, plan] --title Cat`. Gives its path.
        """
        arguments = parse_argstring(self.etreport, line)
        with one_line_errors("etreport", "call etlab.report yourself for the traceback"):
            from etlab.reporting import report

            text = text_of(arguments.subject)
            if text is None:
                text, subject = only_run(self.shell, "etreport")
            else:
                subject = evaluate(self.shell, text, "etreport")
            place = arguments.output or "report.html"
            title = text_of(arguments.title)
            path = report(subject, place, json=arguments.json, title=title)
        if arguments.open and not webbrowser.open(Path(path).resolve().as_uri()):
            raise UsageError(f"etreport: no browser here; the page is in {path}")
        if arguments.print_code:
            texts = {
                "json": repr(arguments.json) if arguments.json else None,
                "title": repr(title) if title else None,
            }
            call = as_call("etlab.report", [text, repr(place)], texts)
            print(f"import etlab\n\n{call}")
        return path


MAGICS = ReportMagics
