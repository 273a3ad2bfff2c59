"""What the magics share: the user's expressions, errors in one line, and the same in Python."""

import contextlib
import keyword
from collections.abc import Iterator, Sequence
from typing import Any

from IPython.core.error import UsageError

from etlab.errors import EtlabError


def text_of(parts: Sequence[str] | str | None) -> str | None:
    """An expression that the magic's line split at its spaces, without quotes around all of it."""
    if parts is None:
        return None
    text = parts if isinstance(parts, str) else " ".join(parts)
    text = text.strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "'\"" and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    return text or None


def evaluate(shell: Any, text: str, option: str) -> Any:
    """The value of a user's expression.

    Raises:
        UsageError: it has none; the message names the option and the exception.
    """
    try:
        return shell.ev(text)
    except Exception as error:
        raise UsageError(
            f"{option} {text}: {type(error).__name__}: {error} "
            "(give a Python expression over names of this session)"
        ) from error


def evaluate_cell(shell: Any, cell: str) -> Any:
    """Run a cell in the user's session and give the value of its last expression.

    Raises:
        UsageError: the cell fails, or ends in something that has no value.
    """
    import ast

    source = shell.transform_cell(cell)
    try:
        tree = ast.parse(source)
        if not tree.body:
            raise UsageError("the cell is empty: end it with the model, or with its name")
        last = tree.body[-1]
        if isinstance(last, ast.Expr):
            body = ast.Module(tree.body[:-1], [])
            final = ast.Expression(last.value)
        elif isinstance(last, ast.Assign) and isinstance(last.targets[0], ast.Name):
            body = tree
            final = ast.parse(last.targets[0].id, mode="eval")
        else:
            raise UsageError("the cell gives no model: end it with an expression, such as its name")
        exec(compile(body, "<etexport cell>", "exec"), shell.user_ns)
        return eval(compile(final, "<etexport cell>", "eval"), shell.user_ns)
    except UsageError:
        raise
    except Exception as error:
        raise UsageError(f"the cell failed: {type(error).__name__}: {error}") from error


@contextlib.contextmanager
def one_line_errors(magic: str, hint: str) -> Iterator[None]:
    """Turn every failure into one line with a hint; `%tb` still shows where it came from."""
    try:
        yield
    except UsageError:
        raise
    except EtlabError as error:
        raise UsageError(f"{magic}: {_one_line(error)}") from error
    except KeyboardInterrupt as error:
        raise UsageError(f"{magic}: interrupted; earlier results are untouched") from error
    except Exception as error:
        kind = type(error).__name__
        raise UsageError(f"{magic}: {kind}: {_one_line(error)} ({hint})") from error


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return text if len(text) <= 1000 else text[:999] + "…"


def check_name(name: str | None) -> str | None:
    """`name` if it can be a variable.

    Raises:
        UsageError: it cannot.
    """
    if name is not None and (not name.isidentifier() or keyword.iskeyword(name)):
        raise UsageError(f"-n {name}: not a variable name")
    return name


def split_names(text: str | None) -> list[str] | None:
    """Names of a comma-separated option."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None


def as_call(function: str, positional: Sequence[str], keywords: dict[str, str | None]) -> str:
    """A call as Python source, keywords without value left out."""
    given = [f"{name}={value}" for name, value in keywords.items() if value is not None]
    return f"{function}({', '.join([*positional, *given])})"


def finish(
    shell: Any,
    result: Any,
    code: str,
    *,
    name: str | None = None,
    print_code: bool = False,
    imports: Sequence[str] = (),
) -> Any:
    """Put a magic's result into a variable, print the Python that does the same; the result.

    Args:
        shell: the user's.
        result: of the magic.
        code: the Python, without its imports.
        name: of the variable; None for none.
        print_code: whether to print.
        imports: modules that the code needs beside etlab; `from x import y` as it stands.
    """
    if name is not None and shell is not None:
        shell.push({name: result})
    if print_code:
        lines = [one if one.startswith("from ") else f"import {one}" for one in imports]
        head = ["import etlab"] if "etlab." in code else []
        print("\n".join([*sorted([*lines, *head]), *([""] if lines or head else []), code]))
    return result


def common_options(function: Any) -> Any:
    """`--name` and `--print-code`, which every magic has."""
    from IPython.core.magic_arguments import argument

    function = argument(
        "--print-code", action="store_true", help="print the Python that does the same"
    )(function)
    return argument("-n", "--name", metavar="VAR", help="also put the result into this variable")(
        function
    )
