"""Say what differs between two .pte files.

Exit codes: 0 nothing differs, 1 something does, 2 a file cannot be compared.
"""

import argparse
import sys

from etlab.errors import EtlabError
from etlab.inspect.diff import diff

_TROUBLE = 2


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("before", metavar="BEFORE", help="a .pte file")
    parser.add_argument("after", metavar="AFTER", help="another one")


def run(arguments: argparse.Namespace) -> int:
    """Print."""
    try:
        found = diff(arguments.before, arguments.after)
    except EtlabError as error:
        print(f"etlab: {error}", file=sys.stderr)
        return _TROUBLE
    print(found)
    return found.exit_code
