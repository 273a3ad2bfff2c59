"""A worker process: configurations by number on its input, results as JSON lines on its output.

Whatever models and libraries print goes to the error stream.
"""

import dataclasses
import json
import os
import sys
from pathlib import Path


def main() -> None:
    """Answer until the input ends."""
    channel = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    setup = json.loads(sys.stdin.readline())
    sys.path[:] = setup["path"]

    import torch

    from etlab.sweeping.trial import measure_packed

    torch.set_num_threads(setup["threads"])
    data = Path(setup["work"]).read_bytes()

    def ask_for_quiet() -> None:
        channel.write("quiet\n")
        sys.stdin.readline()

    for line in iter(sys.stdin.readline, ""):
        outcome = measure_packed(data, int(line), ask_for_quiet)
        channel.write(json.dumps(dataclasses.asdict(outcome)) + "\n")


if __name__ == "__main__":
    main()
