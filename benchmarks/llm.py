"""SmolLM2-135M in our runner, the same `.pte` in the official runtime, llama.cpp on the GGUF.

Each runtime runs in a process of its own; rounds alternate between them. A round reads a prompt of
256 tokens and writes one token, then the same with 65, greedily and without a stop: the first is
the prefill, the difference the decoding of 64 tokens. Times are processor time on one thread, wall
time on several. Figures are medians over the rounds; ratios above 1 mean that we are faster.

`read` is what a token reads of weights, `share` that of what this machine reads at most. `peak` is
the largest resident set of the process above that after its imports.

The official runtime is asked from Python, a call a token; ours is the runner. llama.cpp runs if
`xllamacpp` is installed (`pip install xllamacpp`).

    python benchmarks/llm.py [--rounds 5] [--threads 1] [--folder DIR] [--kind 8da4w|fp32]
                              [--packages etlab official]
"""

import argparse
import contextlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

PROMPT, STEPS, CONTEXT = 256, 64, 1024
PACKAGES = ("etlab", "official", "llama.cpp")
Write = Callable[[int], Any]  # reads the prompt and writes so many tokens


def make(kind: str, folder: Path) -> Path:
    """The program, made once."""
    from etlab.llm import export_llm
    from etlab.models import smollm2

    path = folder / f"smollm2_{kind}.pte"
    if path.exists():
        return path
    quantization = {"qmode": "8da4w", "group_size": 32, "embedding_quantize": "8,0"}
    export_llm(
        {
            "base": {"model_class": "smollm2", "checkpoint": smollm2.gguf_path()},
            "model": {"use_kv_cache": True, "use_sdpa_with_kv_cache": True},
            "export": {
                "max_seq_length": 512,
                "max_context_length": CONTEXT,
                "output_dir": str(folder),
                "output_name": path.name,
            },
            "quantization": quantization if kind == "8da4w" else {},
            "backend": {"xnnpack": {"enabled": kind == "8da4w", "extended_ops": True}},
        }
    )
    return path


def prompt_tokens() -> list[int]:
    """The same for everybody: English, one token a word or so."""
    return [504 + (index * 37) % 4000 for index in range(PROMPT)]


def etlab_writer(path: Path, threads: int) -> tuple[Write, Callable[[], int]]:
    from etlab import runtime
    from etlab.llm import Runner

    runtime.set_thread_count(threads)
    runner = Runner(path)
    tokens = prompt_tokens()

    def write(count: int) -> Any:
        runner.reset()
        return runner.generate(tokens, max_new_tokens=count, ignore_eos=True)

    def bytes_read() -> int:
        return sum(method.packed_weights for method in runner.memory()) or path.stat().st_size

    return write, bytes_read


def official_writer(path: Path, threads: int) -> tuple[Write, Callable[[], int]]:
    import executorch.extension.llm.custom_ops.custom_ops
    import executorch.kernels.quantized  # noqa: F401
    import torch
    from executorch.extension.pybindings import portable_lib
    from executorch.runtime import Runtime

    torch.set_num_threads(threads)
    portable_lib._unsafe_reset_threadpool(threads)
    method = Runtime.get().load_program(path).load_method("forward")
    prompt = torch.tensor([prompt_tokens()])

    def write(count: int) -> None:
        logits = method.execute([prompt, torch.tensor([0])])[0]
        for place in range(PROMPT, PROMPT + count - 1):
            token = logits.argmax(-1).reshape(1, 1)
            logits = method.execute([token, torch.tensor([place])])[0]

    return write, lambda: 0


def llama_writer(path: Path, threads: int) -> tuple[Write, Callable[[], int]]:
    import xllamacpp

    from etlab.models import smollm2

    parameters = xllamacpp.CommonParams()
    parameters.model.path = smollm2.gguf_path()
    parameters.n_ctx, parameters.n_parallel, parameters.n_gpu_layers = CONTEXT, 1, 0
    parameters.cpuparams.n_threads = parameters.cpuparams_batch.n_threads = threads
    server = xllamacpp.Server(parameters)

    def write(count: int) -> None:
        answer = server.handle_completions(
            {
                "prompt": prompt_tokens(),
                "n_predict": count,
                "temperature": 0,
                "ignore_eos": True,
                "cache_prompt": False,
            }
        )
        counts = answer["timings"]
        if (counts["prompt_n"], counts["predicted_n"]) != (PROMPT, count):
            raise RuntimeError(f"llama.cpp did something else: {counts}")

    return write, lambda: Path(parameters.model.path).stat().st_size


WRITERS = {"etlab": etlab_writer, "official": official_writer, "llama.cpp": llama_writer}


def resident(field: str) -> int:
    """Bytes that the process has in memory; 0 where the system does not say."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith(field):
                return int(line.split()[1]) * 1024
    return 0


def serve(package: str, path: Path, threads: int) -> None:
    """Answer each line of standard input with one round's seconds."""
    import torch

    torch.set_num_threads(1)
    if package == "etlab":
        import etlab.llm  # noqa: F401
    elif package == "official":
        import executorch.runtime  # noqa: F401
    before = resident("VmRSS")
    write, bytes_read = WRITERS[package](path, threads)
    write(2)
    clock = time.process_time if threads == 1 else time.perf_counter

    def seconds(count: int) -> float:
        begin = clock()
        write(count)
        return clock() - begin

    print("ready", flush=True)
    for _ in sys.stdin:
        prefill = seconds(1)
        answer = {
            "prefill": prefill,
            "decode": seconds(1 + STEPS) - prefill,
            "bytes": bytes_read(),
            "peak": resident("VmHWM") - before,
        }
        print(json.dumps(answer), flush=True)


@contextlib.contextmanager
def child(package: str, path: Path, threads: int) -> Iterator[subprocess.Popen[str] | None]:
    """A process that measures, or None when the package cannot."""
    command = [sys.executable, __file__, "--serve", package, "--threads", str(threads), str(path)]
    process = subprocess.Popen(
        command,
        env={**os.environ, "OMP_NUM_THREADS": str(threads)},  # ExecuTorch's attention obeys it
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    try:
        yield process if _answer(process) == "ready" else None
    finally:
        process.kill()
        process.wait()


def _answer(process: subprocess.Popen[str]) -> str:
    """The next line that is ours: libraries write into standard output, too."""
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith(("ready", '{"prefill"')):
            return line.strip()
    return ""


def measure(
    path: Path, packages: Sequence[str], rounds: int, threads: int
) -> dict[str, list[dict[str, float]]]:
    """Rounds by package."""
    results: dict[str, list[dict[str, float]]] = {}
    with contextlib.ExitStack() as stack:
        processes = {one: stack.enter_context(child(one, path, threads)) for one in packages}
        for _ in range(rounds):
            for package, process in processes.items():
                if process is None:
                    continue
                assert process.stdin is not None
                process.stdin.write("\n")
                process.stdin.flush()
                results.setdefault(package, []).append(json.loads(_answer(process)))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("path", nargs="?", type=Path, help="a program to use instead")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--folder", type=Path)
    parser.add_argument("--kind", choices=("8da4w", "fp32"), default="8da4w")
    parser.add_argument("--packages", nargs="+", choices=PACKAGES, default=PACKAGES)
    parser.add_argument("--serve", choices=PACKAGES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(options.serve, options.path, options.threads)
        return
    folder = options.folder or Path(tempfile.mkdtemp())
    folder.mkdir(parents=True, exist_ok=True)
    path = options.path or make(options.kind, folder)
    results = measure(path, options.packages, options.rounds, options.threads)
    from etlab import runtime
    from etlab.runtime import _native

    runtime.set_thread_count(options.threads)
    peak = _native.read_peak(400_000_000, 5)
    print(f"{path.name}, {options.threads} threads; this machine reads {peak / 1e9:.1f} GB/s")
    head = ("", "prefill tok/s", "ratio", "decode tok/s", "ratio", "read GB/s", "share", "peak MiB")
    print("".join(f"{column:>14}" for column in head))
    ours = {key: _median(results["etlab"], key) for key in ("prefill", "decode")}
    for package, found in results.items():
        prefill, decode = _median(found, "prefill"), _median(found, "decode")
        read = _median(found, "bytes") * STEPS / decode
        cells = [
            f"{PROMPT / prefill:14.1f}{prefill / ours['prefill']:14.2f}",
            f"{STEPS / decode:14.1f}{decode / ours['decode']:14.2f}",
            f"{read / 1e9:14.1f}{read / peak:14.2f}" if read else " " * 28,
            f"{_median(found, 'peak') / 2**20:14.0f}",
        ]
        print(f"{package:>14}" + "".join(cells), flush=True)


def _median(rounds: list[dict[str, float]], key: str) -> float:
    return statistics.median(one[key] for one in rounds)


if __name__ == "__main__":
    main()
