"""Say what fills a .pte file."""

import argparse

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.inspect.loading import load
from etlab.inspect.program_file import ProgramFile


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("program", metavar="PROGRAM", help="a .pte file")
    parser.add_argument(
        "--by", choices=("kind", "operator", "part"), default="kind", help="what to sum over"
    )
    parser.add_argument("--most", type=int, metavar="BYTES", help="fail when the file is larger")


def run(arguments: argparse.Namespace) -> int:
    """Print; 1 when the file is larger than it may be."""
    file = load(arguments.program)
    if not isinstance(file, ProgramFile):
        raise InvalidArgumentError(f"{arguments.program} holds tensors, no program; inspect it")
    report = file.size()
    if arguments.by == "part":
        rows = [
            (entry.kind, entry.name, entry.dtype, "x".join(map(str, entry.shape)), entry.nbytes)
            for entry in report.entries
        ]
        print(display.text_table(("kind", "name", "dtype", "shape", "bytes"), rows))
    else:
        sums = report.by_kind if arguments.by == "kind" else report.by_operator
        lines = [
            (name, f"{count:,}", f"{count / max(report.total, 1):.1%}")
            for name, count in sums.items()
        ]
        print(display.text_table((arguments.by, "bytes", "share"), lines))
    print(f"total {report.total:,} bytes")
    if arguments.most is not None and report.total > arguments.most:
        print(f"{report.total - arguments.most:,} bytes more than {arguments.most:,}")
        return 1
    return 0
