"""The same model with several delegates in our runtime, beside the package `openvino` alone.

Every model is exported once for each backend, float and, with a name that ends in `.int8`, static
int8 (calibrated on its own inputs: speed does not ask for accuracy). Each way has a process of its
own; rounds alternate. Columns are milliseconds of one run, medians over the rounds; "of package" is
the time in our runtime's OpenvinoBackend by that of the package (bar: 1.15), and "xnnpack" by
"openvino" says which of the two delegates is faster here.

    python benchmarks/backends.py [--rounds 9] [--threads 2] [--folder DIR] [NAME ...]
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import models
import torch

INT8 = ".int8"
WAYS = ("package", "openvino", "xnnpack")
QUANTIZERS = {"openvino": "int8-openvino", "xnnpack": "int8"}
SECONDS_A_ROUND = 0.1
SECONDS_TO_WARM_UP = 1.0


def make(name: str, folder: Path) -> None:
    """Write `<name>.<backend>.pte` and `<name>.pt`, the inputs."""
    import etlab

    torch.manual_seed(0)
    module, inputs = models.MODELS[name.removesuffix(INT8)]()
    for backend, quantizer in QUANTIZERS.items():
        run = etlab.export(
            module,
            inputs,
            partitioner=backend,
            quantizer=quantizer if name.endswith(INT8) else None,
            calibration=[inputs] if name.endswith(INT8) else None,
        )
        run.save(folder / f"{name}.{backend}.pte")
    torch.save(inputs, folder / f"{name}.pt")


def serve(way: str, name: str, folder: Path, threads: int) -> None:
    """Answer every line of standard input with the seconds of a run."""
    inputs = list(torch.load(folder / f"{name}.pt"))
    if way == "package":
        import openvino

        core = openvino.Core()
        core.set_property(
            "CPU", {"INFERENCE_PRECISION_HINT": "f32", "INFERENCE_NUM_THREADS": threads}
        )
        request = core.import_model(_blob(folder / f"{name}.openvino.pte"), "CPU")
        arrays = [value.numpy() for value in inputs]
        infer = request.create_infer_request()

        def execute() -> None:
            infer.infer(arrays, share_inputs=True)
    else:
        from etlab.runtime import Runtime

        runtime = Runtime.get()
        runtime.set_num_threads(threads)
        method = runtime.load_program(folder / f"{name}.{way}.pte").load_method("forward")
        assert method is not None

        def execute() -> None:
            method.execute(inputs)

    end = time.perf_counter() + SECONDS_TO_WARM_UP  # OpenVINO takes hundreds of runs
    while time.perf_counter() < end:
        execute()
    print("ready", flush=True)
    for _ in sys.stdin:
        times = []
        end = time.perf_counter() + SECONDS_A_ROUND
        while time.perf_counter() < end:
            begin = time.perf_counter()
            execute()
            times.append(time.perf_counter() - begin)
        print(statistics.median(times), flush=True)


def _blob(path: Path) -> bytes:
    """What OpenVINO compiled, out of a program that is all delegate."""
    import etlab
    from etlab.inspect.anatomy import delegate_bytes

    content = etlab.load(path).content
    plan = content.program.execution_plan[0]
    assert len(plan.delegates) == 1, f"{path}: {len(plan.delegates)} delegates"
    return delegate_bytes(content, plan.delegates[0])


def compare(name: str, folder: Path, rounds: int, threads: int) -> str:
    """A row of the table."""
    command = [sys.executable, __file__, "--folder", str(folder), "--threads", str(threads), name]
    children = {
        way: subprocess.Popen(
            [*command, "--serve", way],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for way in WAYS
    }
    for child in children.values():
        assert child.stdout is not None
        child.stdout.readline()
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    for _ in range(rounds):
        for way, child in children.items():
            assert child.stdin is not None
            assert child.stdout is not None
            child.stdin.write("go\n")
            child.stdin.flush()
            if line := child.stdout.readline():
                times[way].append(float(line))
    for child in children.values():
        child.communicate()
    medians = {way: statistics.median(t) * 1e3 if t else float("nan") for way, t in times.items()}
    cells = "".join(f"{medians[way]:10.2f}" for way in WAYS)
    ours = medians["openvino"]
    ratios = f"{ours / medians['package']:12.2f}{medians['xnnpack'] / ours:18.2f}"
    return f"{name:26}{cells}{ratios}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=["efficientnet_lite0", "resnet18", "bert6"])
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--serve", choices=WAYS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.names[0], options.folder, options.threads)
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.folder or Path(temporary)
        folder.mkdir(exist_ok=True, parents=True)
        for name in options.names:
            if not (folder / f"{name}.pt").exists():
                make(name, folder)
        heads = "".join(f"{way:>10}" for way in WAYS)
        print(f"{'':26}{heads}{'of package':>12}{'xnnpack/openvino':>18}")
        for name in options.names:
            print(compare(name, folder, options.rounds, options.threads), flush=True)


if __name__ == "__main__":
    main()
