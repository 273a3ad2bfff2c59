"""How long a program of 90 MB takes until its method is ready, here and in the official runtime.

The same files, one with an XNNPACK delegate and one without; each runtime in a process of its own,
processes in turn. "mapped" is `load_program(path, memory_map=True)`; the official runtime always
maps. Times are medians of one process over its loads but the first, then over the processes.

    python benchmarks/loading.py [--rounds 3]
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

LOADS = 7
WAYS = ("etlab", "etlab mapped", "official")


def write_programs(folder: Path) -> dict[str, Path]:
    """22 linear layers of 1024 by 1024 float32: with a delegate and without."""
    from etlab.backends.xnnpack import XnnpackPartitioner
    from etlab.exir import to_edge_transform_and_lower

    torch.manual_seed(0)
    layers = [nn.Sequential(nn.Linear(1024, 1024), nn.ReLU()) for _ in range(22)]
    exported = torch.export.export(nn.Sequential(*layers).eval(), (torch.ones(1, 1024),))
    paths = {}
    for name, partitioners in (("delegated", [XnnpackPartitioner()]), ("portable", [])):
        paths[name] = folder / f"{name}.pte"
        program = to_edge_transform_and_lower(exported, partitioner=partitioners).to_executorch()
        paths[name].write_bytes(bytes(program.buffer))
    return paths


def loader(way: str) -> Callable[[Path], Any]:
    """What loads a program and its method, and returns what must stay alive."""
    if way == "official":
        from executorch.runtime import Runtime as OfficialRuntime

        def load_official(path: Path) -> Any:
            program = OfficialRuntime.get().load_program(path)
            return program, program.load_method("forward")

        return load_official
    from etlab.runtime import Runtime

    is_mapped = way.endswith("mapped")
    return lambda path: (
        Runtime.get().load_program(path, memory_map=is_mapped).load_method("forward")
    )


def measure(way: str, path: Path) -> tuple[float, float]:
    """Wall and processor milliseconds of one load, in this process."""
    load = loader(way)
    wall, processor = [], []
    for _ in range(LOADS):
        begin = time.perf_counter(), time.process_time()
        loaded = load(path)
        wall.append(time.perf_counter() - begin[0])
        processor.append(time.process_time() - begin[1])
        del loaded
    return statistics.median(wall[1:]) * 1e3, statistics.median(processor[1:]) * 1e3


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "PATH"))
    options = parser.parse_args()
    if options.measure:
        way, path = options.measure
        print(json.dumps(measure(way, Path(path))))
        return
    with tempfile.TemporaryDirectory() as folder:
        paths = write_programs(Path(folder))
        print(f"{'program':<12}{'runtime':<16}{'wall ms':>9}{'processor ms':>14}")
        for name, path in paths.items():
            found: dict[str, list[list[float]]] = {way: [] for way in WAYS}
            for _ in range(options.rounds):
                for way in WAYS:
                    command = [sys.executable, __file__, "--measure", way, str(path)]
                    answer = subprocess.run(command, capture_output=True, text=True, check=True)
                    found[way].append(json.loads(answer.stdout.splitlines()[-1]))
            for way, times in found.items():
                wall, processor = (statistics.median(each) for each in zip(*times, strict=True))
                print(f"{name:<12}{way:<16}{wall:>9.1f}{processor:>14.1f}")


if __name__ == "__main__":
    main()
