"""Build the C++ runtime for a device, whole or with what some programs need.

The result is a CMake package (`find_package(etlab)`) with the program `bin/etlab-run`. With
--select it has only the operators and dtypes of the programs given; the size saved is printed.
"""

import argparse

from etlab.commands._lines import StatusLine
from etlab.commands._numbers import count


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("--select", nargs="+", default=[], metavar="PTE", help="programs")
    parser.add_argument("--output", metavar="FOLDER", help="default: build/devices/TARGET")
    parser.add_argument("--target", default="host", help="host (default) or aarch64")
    parser.add_argument("--source", metavar="FOLDER", help="the checkout with the C++ sources")
    parser.add_argument("--jobs", type=count, default=2, metavar="N", help="compilers at once")


def run(arguments: argparse.Namespace) -> int:
    """Build and say what came of it."""
    from etlab.devices import build

    with StatusLine() as status:
        result = build(
            arguments.output,
            programs=arguments.select,
            target=arguments.target,
            source=arguments.source,
            jobs=arguments.jobs,
            on_line=status.show,
        )
    print(result)
    return 0
