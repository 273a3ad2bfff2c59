"""`%etmem`: where tensors lie, and who is alive when."""

from typing import Any

from IPython.core.error import UsageError
from IPython.core.magic import Magics, line_magic, magics_class
from IPython.core.magic_arguments import argument, magic_arguments, parse_argstring

from etlab.magics.subjects import run_or_program
from etlab.magics.support import as_call, check_name, common_options, finish, one_line_errors
from etlab.run import ExportRun


@magics_class
class MemoryMagics(Magics):
    """`%etmem`."""

    @magic_arguments()
    @argument("subject", nargs="*", help="a run, a program or the path of a .pte file")
    @argument("--method", help="of the program; default: forward")
    @argument("--step", metavar="N|peak", help="the tensors that are alive at this step")
    @argument("--algo", metavar="PLANNER", help="plan a run's tensors with another planner")
    @argument("--trace", metavar="FILE", help="write the plan for Chrome's and Perfetto's viewers")
    @common_options
    @line_magic
    def etmem(self, line: str) -> Any:
        """Show a memory plan: peak, lower bound, who is alive at the peak, what would lower it.

        `%etmem run`, `%etmem run --step peak`, `%etmem run --algo greedy`. Gives a `MemoryReport`,
        or with `--step` a table of tensors.
        """
        arguments = parse_argstring(self.etmem, line)
        name = check_name(arguments.name)
        with one_line_errors("etmem", "call run.memory_plan yourself for the traceback"):
            text, subject = run_or_program(self.shell, arguments.subject, "etmem")
            if arguments.algo and not isinstance(subject, ExportRun):
                raise UsageError(f"etmem: --algo plans runs anew; {text} is a finished program")
            given = {"planner": arguments.algo} if arguments.algo else {}
            plan = subject.memory_plan(arguments.method or "forward", **given)
            variable = name or "plan"
            call = as_call(
                f"{text}.memory_plan",
                [repr(arguments.method)] if arguments.method else [],
                {key: repr(value) for key, value in given.items()},
            )
            lines = [f"{variable} = {call}"]
            if arguments.trace:
                plan.save_chrome_trace(arguments.trace)
                lines.append(f"{variable}.save_chrome_trace({arguments.trace!r})")
            result = plan
            if arguments.step is not None:
                step = _step(arguments.step, plan)
                result = plan.table_at(step)
                place = "plan.peak_step" if arguments.step == "peak" else str(step)
                lines = [
                    lines[0].replace(f"{variable} =", "plan =", 1),
                    *lines[1:],
                    f"{name or 'alive'} = plan.table_at({place})",
                ]
        return finish(
            self.shell, result, "\n".join(lines), name=name, print_code=arguments.print_code
        )


def _step(text: str, plan: Any) -> int:
    if text == "peak":
        return int(plan.peak_step)
    count = len(plan.plan.steps)
    if not text.isdigit() or int(text) >= count:
        raise UsageError(f"etmem: --step {text}: expected peak, or 0 to {count - 1}")
    return int(text)


MAGICS = MemoryMagics
