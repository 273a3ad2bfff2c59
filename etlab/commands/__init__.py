"""Commands of `python -m etlab`: one file each, found by presence.

A file has a docstring, whose first line is the command's help, `add_arguments(parser)` and
`run(arguments)`, which returns the exit code: 0 done, 1 refused or failed, 2 wrong command line.
"""

import argparse
import importlib
import pkgutil
import sys
from collections.abc import Sequence

from etlab.errors import EtlabError

FAILED = 1
STOPPED = 130


def main(words: Sequence[str]) -> int:
    """Run the command that `words` say; the exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m etlab", description="Programs for devices: run them, build for them."
    )
    commands = parser.add_subparsers(metavar="COMMAND", required=True)
    for info in pkgutil.iter_modules(__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{__name__}.{info.name}")
        summary = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(
            info.name,
            help=summary,
            description=module.__doc__,
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        module.add_arguments(command)
        command.set_defaults(run=module.run)
    arguments = parser.parse_args(words)
    try:
        return int(arguments.run(arguments))
    except EtlabError as error:
        print(f"etlab: {words_of(error)}: {error}", file=sys.stderr)
        return FAILED
    except OSError as error:
        print(f"etlab: access: {error}", file=sys.stderr)
        return FAILED
    except KeyboardInterrupt:
        print("etlab: stopped", file=sys.stderr)
        return STOPPED


def words_of(error: EtlabError) -> str:
    """The kind of an error in words: "invalid argument".

    >>> from etlab.errors import InvalidArgumentError
    >>> words_of(InvalidArgumentError("x"))
    'invalid argument'
    """
    name = type(error).__name__.removesuffix("Error")
    parts = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in name)
    return parts.strip() or "error"
