"""`%etrun`: a program's outputs."""

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.inspect.profile_rows import Samples
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
from etlab.session import options


@magics_class
class RunMagics(Magics):
    """`%etrun`."""

    @magic_arguments()
    @argument("subject", nargs="*", help="a run, a program or the path of a .pte file")
    @argument("-i", "--inputs", nargs="+", metavar="EXPR", help="tensor or tuple; default: example")
    @argument("--path", help="of a run: native (default), eager, exported, quantized, official, …")
    @argument("--method", help="of the program; default: forward")
    @argument("--runs", type=int, metavar="N", help="run so often natively and print the times")
    @argument("--threads", type=int, metavar="N", help="of the kernels, for this line only")
    @argument("--etdump", metavar="FILE", help="write the events for an Inspector")
    @common_options
    @line_magic
    def etrun(self, line: str) -> Any:
        """Run a program on inputs and give the outputs.

        `%etrun run -i x`, `%etrun model.pte -i x --runs 20`. Of a run the outputs have the model's
        structure; a file's, and those of `--method`, `--runs` and `--etdump`, are a flat list.
        """
        arguments = parse_argstring(self.etrun, line)
        name = check_name(arguments.name)
        variable = name or "outputs"
        is_native = arguments.method or arguments.runs is not None or arguments.etdump
        if arguments.path not in (None, "native") and is_native:
            raise UsageError(
                "etrun: --method, --runs and --etdump are of native runs, leave --path out"
            )
        if arguments.runs is not None and arguments.runs < 1:
            raise UsageError(f"etrun: --runs {arguments.runs}: expected 1 or more")
        before = options.threads
        with one_line_errors("etrun", "call run.run yourself for the traceback"):
            text, subject = run_or_program(self.shell, arguments.subject, "etrun")
            inputs_text, inputs = self._inputs(arguments.inputs, text, subject)
            lines = []
            if arguments.threads is not None:
                options.threads = arguments.threads
                lines.append(f"etlab.options.threads = {arguments.threads}")
            try:
                if is_native:
                    result, code = _native(text, subject, inputs_text, inputs, arguments, variable)
                    lines += code
                else:
                    keywords = {"path": repr(arguments.path) if arguments.path else None}
                    given = {"path": arguments.path} if arguments.path else {}
                    if given and not isinstance(subject, ExportRun):
                        raise UsageError(f"etrun: {text} is a program; --path is of runs")
                    result = subject.run(inputs, **given)
                    call = as_call(f"{text}.run", [inputs_text], keywords)
                    lines.append(f"{variable} = {call}")
            finally:
                options.threads = before
        return finish(
            self.shell, result, "\n".join(lines), name=name, print_code=arguments.print_code
        )

    def _inputs(self, parts: list[str] | None, text: str, subject: Any) -> tuple[str, Any]:
        inputs = text_of(parts)
        if inputs is not None:
            return inputs, evaluate(self.shell, inputs, "--inputs")
        if isinstance(subject, ExportRun):
            return f"{text}.example_inputs", subject.example_inputs
        raise UsageError("etrun: a program file needs --inputs, as in -i x")


def _native(
    text: str, subject: Any, inputs_text: str, inputs: Any, arguments: Any, variable: str
) -> tuple[list[Any], list[str]]:
    """Flat outputs of a method, and the Python that gives them."""
    from etlab.arguments import as_arguments
    from etlab.numerics.paths import flatten_arguments

    file, file_text = subject, text
    if isinstance(subject, ExportRun):
        file, file_text = subject.file, f"{text}.file"
    flat = list(flatten_arguments(as_arguments(inputs, "etrun")))
    name = arguments.method or "forward"
    if name not in file.methods:
        raise UsageError(f"etrun: no method '{name}'; there are: {', '.join(file.methods)}")
    runs = arguments.runs or 1
    method = file.program.new_method(name)
    with method.trace() as trace:
        for _ in range(runs):
            outputs = method.execute(flat)
    if arguments.runs is not None:
        times = Samples(tuple(run.duration * 1e-9 for run in trace.runs))
        print(f"{runs} traced runs: {times}")
    given = f"[{inputs_text}]" if not isinstance(inputs, tuple) else f"[*{inputs_text}]"
    code = [
        f"method = {file_text}.program.new_method({name!r})",
        "with method.trace() as trace:",
        f"    for _ in range({runs}):",
        f"        {variable} = method.execute({given})",
    ]
    if arguments.etdump:
        trace.save(arguments.etdump)
        code.append(f"trace.save({arguments.etdump!r})")
    return list(outputs), code


MAGICS = RunMagics
