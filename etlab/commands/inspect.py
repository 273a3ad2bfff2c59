"""Say how a .pte, .bpte or .ptd file is built and what it needs."""

import argparse

from etlab.inspect.loading import load
from etlab.inspect.program_file import ProgramFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("file", metavar="FILE", help="a .pte, .bpte or .ptd file")
    parser.add_argument("--method", metavar="NAME", help="only this one")
    parser.add_argument("--dump", action="store_true", help="every value and instruction")
    parser.add_argument(
        "--delegates", action="store_true", help="the graphs of delegated subgraphs, too"
    )


def run(arguments: argparse.Namespace) -> int:
    """Print."""
    file = load(arguments.file)
    if not isinstance(file, ProgramFile):
        print(file)
        return 0
    print(file.anatomy)
    chosen = [arguments.method] if arguments.method else file.methods
    for method in chosen:
        tables = (
            file.inputs(method),
            file.outputs(method),
            file.state(method),
            file.operators(method),
            file.backends(method),
        )
        for table in tables:
            if table:
                print(f"\n{table}")
        print(f"\n{file.memory_plan(method)!r}")
    if file.notes:
        print(f"\n{file.notes}")
    if arguments.dump or arguments.delegates:
        print(f"\n{file.dump(delegates=arguments.delegates)}")
    return 0
