"""How long a lowering takes, beside the official package: exported program to `.buffer`.

Every measurement is a fresh process, the two packages in turn. In each process a model is exported
(not timed) and lowered without a partitioner: the "first" figure. Then the model gets other
weights, is exported anew and lowered again: the "second" figure, for which etlab keeps no result of
a whole stage. Medians over the rounds; the ratio is official / etlab of the same figure.

    python benchmarks/lowering.py [--rounds 3] [--models FILE.py] [MODEL ...]
"""

import argparse
import hashlib
import importlib.util
import json
import statistics
import subprocess
import sys
import time
from pathlib import Path
from types import ModuleType
from typing import Any

DEFAULT_MODELS = Path(__file__).with_name("models.py")
BARS = {"efficientnet_lite0": (10, 30), "bert6": (10, 30)}  # first, second: times faster


def load_models(path: Path) -> ModuleType:
    """The module of builders at `path`."""
    spec = importlib.util.spec_from_file_location("benchmark_models", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def measure(package: str, model_name: str, models: Path) -> dict[str, Any]:
    """Lower one model twice in this process."""
    import torch

    torch.set_num_threads(1)
    if package == "etlab":
        from etlab.exir import to_edge_transform_and_lower
    else:
        from executorch.exir import to_edge_transform_and_lower

    torch.manual_seed(0)
    model, inputs = load_models(models).MODELS[model_name]()
    result: dict[str, Any] = {}
    for turn in ("first", "second"):
        if turn == "second":
            with torch.no_grad():
                for parameter in model.parameters():
                    parameter.mul_(1.01)
        program = torch.export.export(model, inputs, strict=False)
        begin = time.perf_counter()
        buffer = to_edge_transform_and_lower(program).to_executorch().buffer
        result[turn] = time.perf_counter() - begin
        result[f"{turn} sha256"] = hashlib.sha256(buffer).hexdigest()
    return result


def in_fresh_process(package: str, model_name: str, models: Path) -> dict[str, Any]:
    """`measure`, in a process of its own."""
    command = [sys.executable, __file__, "--measure", package, "--models", str(models), model_name]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{package} on {model_name} failed:\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(model_name: str, models: Path, rounds: int) -> bool:
    """Print the rows of one model; False when a bar is missed."""
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for package in ("etlab", "official"):
            result = in_fresh_process(package, model_name, models)
            for turn in ("first", "second"):
                times.setdefault((package, turn), []).append(result[turn])
            if package == "etlab":
                hashes = [result["first sha256"], result["second sha256"]]
    holds = True
    for index, turn in enumerate(("first", "second")):
        ours = statistics.median(times["etlab", turn])
        theirs = statistics.median(times["official", turn])
        bar = BARS.get(model_name, (None, None))[index]
        verdict = (
            "" if bar is None else f"bar {bar} x: {'held' if theirs >= bar * ours else 'MISSED'}"
        )
        holds = holds and (bar is None or theirs >= bar * ours)
        print(
            f"{model_name:20} {turn:7} etlab {ours:7.3f} s   official {theirs:7.3f} s   "
            f"{theirs / ours:6.1f} x   {verdict}   .pte sha256 {hashes[index][:16]}"
        )
    return holds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", default=list(BARS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--measure", metavar="PACKAGE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.measure:
        print(json.dumps(measure(arguments.measure, arguments.names[0], arguments.models)))
        return
    digest = hashlib.sha256(arguments.models.read_bytes()).hexdigest()
    print(f"models: {arguments.models.name} sha256 {digest}; rounds: {arguments.rounds}")
    results = [compare(name, arguments.models, arguments.rounds) for name in arguments.names]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
