"""`python -m etlab.llm.export_llm --config config.yaml [section.key=value …]`."""

import argparse
import sys

from etlab.errors import EtlabError
from etlab.llm.export_llm.flow import export_llm


def main(arguments: list[str] | None = None) -> int:
    """Export what a configuration says, and print where the program is."""
    parser = argparse.ArgumentParser(prog="python -m etlab.llm.export_llm", description=__doc__)
    parser.add_argument("--config", help="a YAML file with ExecuTorch's keys")
    parser.add_argument("overrides", nargs="*", metavar="section.key=value")
    chosen = parser.parse_args(arguments)
    try:
        print(export_llm(chosen.config, chosen.overrides))
    except EtlabError as error:
        print(f"export_llm: {error}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
