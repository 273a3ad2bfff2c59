"""How long a lowering takes, beside the official package: exported program to `.buffer`.

Every measurement is a fresh process, the two packages in turn. In each process a model is exported
(not timed) and lowered, without a partitioner unless one is asked for: the "first" figure. Then the
model gets other weights, is exported anew and lowered again: the "second" figure, for which etlab
keeps no result of a whole stage. Medians over the rounds; the ratio is official / etlab of the same
figure.

    python benchmarks/lowering.py [--rounds 3] [--models FILE.py] [--xnnpack] [MODEL ...]
    python benchmarks/lowering.py --growth       how the time grows with the graph
    python benchmarks/lowering.py --recurrent    LSTM and GRU over long sequences
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


def partitioners(package: str, with_xnnpack: bool) -> list[Any]:
    """The partitioners of a package; none, or XNNPACK's."""
    if not with_xnnpack:
        return []
    if package == "etlab":
        from etlab.backends.xnnpack import XnnpackPartitioner
    else:
        from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    return [XnnpackPartitioner()]


def measure(package: str, model_name: str, models: Path, with_xnnpack: bool) -> dict[str, Any]:
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
        chosen = partitioners(package, with_xnnpack)
        begin = time.perf_counter()
        buffer = to_edge_transform_and_lower(program, partitioner=chosen).to_executorch().buffer
        result[turn] = time.perf_counter() - begin
        result[f"{turn} sha256"] = hashlib.sha256(buffer).hexdigest()
    return result


def in_fresh_process(
    package: str, model_name: str, models: Path, *, with_xnnpack: bool = False
) -> dict[str, Any]:
    """`measure`, in a process of its own."""
    command = [sys.executable, __file__, "--measure", package, "--models", str(models), model_name]
    command += ["--xnnpack"] * with_xnnpack
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{package} on {model_name} failed:\n{done.stderr[-3000:]}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def compare(model_name: str, models: Path, rounds: int, *, with_xnnpack: bool) -> bool:
    """Print the rows of one model; False when a bar is missed."""
    times: dict[tuple[str, str], list[float]] = {}
    for _ in range(rounds):
        for package in ("etlab", "official"):
            result = in_fresh_process(package, model_name, models, with_xnnpack=with_xnnpack)
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


def chain(operators: int) -> Any:
    """A module of small operators: residuals, views, splits, reductions, equal calls."""
    import torch

    class Chain(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            y = x
            for _ in range(operators // 19):
                first, second = (y * x).relu().reshape(-1).view(5, 6).t().chunk(2, 0)
                mean = (first + second.exp()).mean(1, keepdim=True)
                y = torch.cat([first, second.exp()], 0).t() * 0.5 + mean.sum() + x.exp()
            return y

    return Chain()


def measure_growth(operators: int) -> dict[str, Any]:
    """Lower a chain of small operators once, cold."""
    import torch

    from etlab.exir import to_edge_transform_and_lower

    torch.set_num_threads(1)
    program = torch.export.export(chain(operators), (torch.randn(5, 6),), strict=False)
    count = sum(node.op == "call_function" for node in program.graph.nodes)
    begin = time.perf_counter()
    manager = to_edge_transform_and_lower(program)
    buffer = manager.to_executorch().buffer
    seconds = time.perf_counter() - begin
    passes = {record.name: round(record.seconds, 3) for record in manager.pass_records()}
    return {"operators": count, "seconds": seconds, "bytes": len(buffer), "passes": passes}


def growth(rounds: int) -> bool:
    """Print how lowering time grows; False when a bar is missed."""
    per_operator: list[float] = []
    holds = True
    for wanted in (600, 1200, 3000, 6000):
        runs = [in_fresh_process("growth", str(wanted), DEFAULT_MODELS) for _ in range(rounds)]
        seconds = statistics.median(run["seconds"] for run in runs)
        count = runs[0]["operators"]
        per_operator.append(seconds / count)
        verdict = ""
        if wanted == 600:
            holds = seconds <= 1.5
            verdict = f"bar 1.5 s: {'held' if holds else 'MISSED'}"
        print(
            f"{count:6} operators  {seconds:7.3f} s  {1e6 * seconds / count:6.0f} us each  "
            f"{runs[0]['bytes']:9} bytes  {verdict}  {runs[0]['passes']}"
        )
    is_linear = max(per_operator) <= 2 * per_operator[0]
    print(f"linear within a factor of 2: {'held' if is_linear else 'MISSED'}")
    return holds and is_linear


def recurrent() -> None:
    """Print what recurrent layers cost: lowering, size, and a run beside eager and official."""
    import torch

    from etlab.exir import to_edge_transform_and_lower
    from etlab.exir.recurrent import recurrent_layers_whole
    from etlab.numerics.official import OfficialRuntime, is_available
    from etlab.runtime import Runtime

    torch.set_num_threads(1)

    def timed(function: Any) -> tuple[float, Any]:
        result = function()
        begin = time.perf_counter()
        result = function()
        return time.perf_counter() - begin, result

    for layer in (torch.nn.LSTM, torch.nn.GRU):
        for steps in (256, 1000):
            torch.manual_seed(0)
            model, x = layer(64, 64, batch_first=True).eval(), torch.randn(1, steps, 64)
            begin = time.perf_counter()
            with recurrent_layers_whole():
                exported = torch.export.export(model, (x,), strict=False)
            middle = time.perf_counter()
            program = to_edge_transform_and_lower(exported).to_executorch()
            end = time.perf_counter()
            buffer = bytes(program.buffer)
            method = Runtime.get().load_program(buffer).load_method("forward")
            with torch.no_grad():
                eager, expected = timed(lambda model=model, x=x: model(x)[0])
            own, outputs = timed(lambda method=method, x=x: method.execute([x]))
            error = (outputs[0] - expected).abs().max().item()
            text = f"native {own * 1e3:6.1f} ms (error {error:.0e})"
            if is_available():
                with OfficialRuntime(buffer) as official:
                    theirs, outputs = timed(lambda o=official, x=x: o.execute([x]))
                error = (outputs[0] - expected).abs().max().item()
                text += f"  official {theirs * 1e3:6.1f} ms (error {error:.0e})"
            print(
                f"{layer.__name__:5} {steps:5} steps  export {middle - begin:5.2f} s  lowering "
                f"{end - middle:6.3f} s  {len(program.memory_plan().steps)} instructions  "
                f"{len(buffer)} bytes  eager {eager * 1e3:6.1f} ms  {text}"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", metavar="MODEL", default=list(BARS))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--models", type=Path, default=DEFAULT_MODELS)
    parser.add_argument("--xnnpack", action="store_true", help="with XnnpackPartitioner()")
    parser.add_argument("--growth", action="store_true", help="time against size of the graph")
    parser.add_argument("--recurrent", action="store_true", help="LSTM and GRU")
    parser.add_argument("--measure", metavar="PACKAGE", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.recurrent:
        recurrent()
        return
    if arguments.growth:
        sys.exit(0 if growth(arguments.rounds) else 1)
    if arguments.measure == "growth":
        print(json.dumps(measure_growth(int(arguments.names[0]))))
        return
    if arguments.measure:
        name, with_xnnpack = arguments.names[0], arguments.xnnpack
        print(json.dumps(measure(arguments.measure, name, arguments.models, with_xnnpack)))
        return
    digest = hashlib.sha256(arguments.models.read_bytes()).hexdigest()
    print(f"models: {arguments.models.name} sha256 {digest}; rounds: {arguments.rounds}")
    results = [
        compare(name, arguments.models, arguments.rounds, with_xnnpack=arguments.xnnpack)
        for name in arguments.names
    ]
    sys.exit(0 if all(results) else 1)


if __name__ == "__main__":
    main()
