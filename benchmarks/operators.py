"""Our default kernels beside the official optimized + portable library: the same files, in turn.

Every case is a small function, lowered once by etlab without a partitioner. The two runtimes each
have a child process on one thread; they load the same `.pte`, get the same inputs, and run it in
alternating rounds. Times are processor time of one `execute`, medians over the rounds; "ratio" is
official / ours, above 1 is faster than official. The last line holds the geometric mean and the
slowest case.

    python benchmarks/operators.py [--rounds 7] [--cases FILE.py] [NAME ...]

`FILE.py` replaces the case table: its `CASES` holds (name, function, maker of inputs) triples.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from lowering import load_models

SECONDS_A_ROUND = 0.03
# Between the turns of runtimes with threads, which go on spinning when theirs has ended.
SECONDS_BETWEEN_TURNS = 0.2
PACKAGES = ("etlab", "official")
DEFAULT_CASES = Path(__file__).with_name("operator_cases.py")
BARS = (1.0, 0.5)  # geometric mean and slowest case, as times faster than official

Case = tuple[str, Callable[..., Any], Callable[[], tuple[torch.Tensor, ...]]]


class Function(torch.nn.Module):
    """A function as a module, for torch.export."""

    def __init__(self, function: Callable[..., Any]):
        super().__init__()
        self.function = function

    def forward(self, *inputs: torch.Tensor) -> Any:
        return self.function(*inputs)


def lower(cases: list[Case], folder: Path) -> None:
    """Write `<name>.pte` and `<name>.pt`, its inputs, for every case."""
    from etlab.exir import to_edge_transform_and_lower

    for name, function, make_inputs in cases:
        torch.manual_seed(0)
        inputs = make_inputs()
        program = torch.export.export(Function(function), inputs, strict=False)
        (folder / f"{name}.pte").write_bytes(
            to_edge_transform_and_lower(program).to_executorch().buffer
        )
        torch.save(inputs, folder / f"{name}.pt")


def loader(package: str, threads: int = 1) -> Callable[[Path], Any]:
    """What loads the method `forward` of a file with a runtime, on so many threads.

    ONNX Runtime, `onnx`, loads the file beside it that ends in `.onnx`.
    """
    if package == "etlab":
        from etlab.runtime import Runtime, set_thread_count

        set_thread_count(threads)
        return lambda path: Runtime.get().load_program(path).load_method("forward")
    if package == "onnx":
        from onnx_models import OnnxMethod

        return lambda path: OnnxMethod(path.with_suffix(".onnx"), threads)
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime as OfficialRuntime

    portable_lib._unsafe_reset_threadpool(threads)
    programs: list[Any] = []  # a method does not keep its program

    def load(path: Path) -> Any:
        programs.append(OfficialRuntime.get().load_program(path))
        return programs[-1].load_method("forward")

    return load


def seconds_of(
    execute: Callable[[list[torch.Tensor]], Any], inputs: list[torch.Tensor], threads: int
) -> float:
    """Seconds of one run, the mean over as many as fill a round.

    Of processor time on one thread, which a busy machine disturbs less; by the wall on several.
    """
    clock = time.process_time if threads == 1 else time.perf_counter
    execute(inputs)
    begin = clock()
    execute(inputs)
    execute(inputs)
    repeats = max(2, int(SECONDS_A_ROUND / max((clock() - begin) / 2, 1e-6)))
    begin = clock()
    for _ in range(repeats):
        execute(inputs)
    return (clock() - begin) / repeats


def serve(package: str, folder: Path, threads: int) -> None:
    """Answer every name on standard input with one line, the seconds of a run or an error."""
    torch.set_num_threads(1)
    load = loader(package, threads)
    methods: dict[str, Any] = {}
    for line in sys.stdin:
        name = line.strip()
        try:
            if name not in methods:
                inputs = list(torch.load(folder / f"{name}.pt"))
                methods = {name: (load(folder / f"{name}.pte"), inputs)}
            method, inputs = methods[name]
            answer: dict[str, Any] = {"seconds": seconds_of(method.execute, inputs, threads)}
        except Exception as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), flush=True)


class Child:
    """A runtime in a process of its own."""

    def __init__(self, package: str, folder: Path, threads: int):
        command = [sys.executable, __file__, "--serve", package, "--folder", str(folder)]
        command += ["--threads", str(threads)]
        self._pause = SECONDS_BETWEEN_TURNS if threads > 1 else 0.0
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def measure(self, name: str) -> float:
        """Seconds of one run of a case.

        Raises:
            RuntimeError: the case failed there, or the process died.
        """
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        time.sleep(self._pause)
        self._process.stdin.write(name + "\n")
        self._process.stdin.flush()
        for line in self._process.stdout:
            if line.startswith("{"):  # the official runtime also logs there
                answer = json.loads(line)
                if "error" in answer:
                    raise RuntimeError(answer["error"])
                return float(answer["seconds"])
        raise RuntimeError(f"the process died with code {self._process.wait()}")

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


@contextmanager
def children(
    folder: Path, packages: Sequence[str] = PACKAGES, threads: int = 1
) -> Iterator[dict[str, Child]]:
    """A child process for every package, ended with the block."""
    processes = {package: Child(package, folder, threads) for package in packages}
    try:
        yield processes
    finally:
        for process in processes.values():
            process.close()


def medians(name: str, processes: dict[str, Child], rounds: int) -> dict[str, float]:
    """Seconds of one case by package, the processes in turn."""
    seconds: dict[str, list[float]] = {package: [] for package in processes}
    for _ in range(rounds):
        for package, process in processes.items():
            seconds[package].append(process.measure(name))
    return {package: statistics.median(times) for package, times in seconds.items()}


def compare(name: str, processes: dict[str, Child], rounds: int) -> float:
    """Print the row of one case; official / ours."""
    ours, official = medians(name, processes, rounds).values()
    print(f"{name:24}{ours * 1e6:11.1f}{official * 1e6:11.1f}{official / ours:8.2f}", flush=True)
    return official / ours


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="parts of the names; default all")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--cases", type=Path, default=DEFAULT_CASES)
    parser.add_argument("--serve", metavar="PACKAGE", help=argparse.SUPPRESS)
    parser.add_argument("--folder", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--threads", type=int, default=1, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.serve:
        return serve(arguments.serve, arguments.folder, arguments.threads)
    cases: list[Case] = [
        case
        for case in load_models(arguments.cases).CASES
        if not arguments.names or any(part in case[0] for part in arguments.names)
    ]
    with tempfile.TemporaryDirectory() as name, children(Path(name)) as processes:
        lower(cases, Path(name))
        print(f"{'':24}{'ours us':>11}{'official us':>11}{'ratio':>8}")
        ratios = {case[0]: compare(case[0], processes, arguments.rounds) for case in cases}
    mean = statistics.geometric_mean(ratios.values())
    slowest = min(ratios, key=lambda case: ratios[case])
    print(
        f"\ngeometric mean {mean:.2f} x over {len(ratios)} cases (bar {BARS[0]}), slowest"
        f" {slowest} {ratios[slowest]:.2f} x (bar {BARS[1]})"
    )
    sys.exit(0 if mean >= BARS[0] and ratios[slowest] >= BARS[1] else 1)


if __name__ == "__main__":
    main()
