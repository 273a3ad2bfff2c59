"""Vela, Arm's compiler for the Ethos-U, in a child process: it may crash, and it can be stopped."""

import contextlib
import importlib.metadata
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from etlab.backends.arm import package
from etlab.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from etlab.backends.arm.ethosu.report import read_estimate
from etlab.backends.arm.ethosu.stream import StreamTensor, VelaStream
from etlab.errors import BackendMissingError, InterruptedExecutionError, LoweringError
from etlab.exir import stages
from etlab.exir.partition.estimate import Estimate

_PACKAGE = "ethos-u-vela"
_MODULE = "ethosu.vela"
_NAME = "graph"
_TELL_ALL = ("--verbose-performance", "--enable-debug-db")
_POLL_SECONDS = 0.05
_MOST_SECONDS = 1800.0
_MOST_WORDS = 2000  # characters of what Vela says


@dataclass(frozen=True, slots=True)
class Compiled:
    """What Vela made of a graph.

    Attributes:
        stream: what the device needs.
        estimate: what Vela expects of it.
    """

    stream: VelaStream
    estimate: Estimate


def check_installed() -> None:
    """Refuse to go on without Vela.

    Raises:
        BackendMissingError: it is not installed.
    """
    if not package.has_vela():
        raise BackendMissingError(
            f"Ethos-U programs are compiled by Vela, of the package {_PACKAGE}, which is not"
            f" installed: pip install 'etlab[{package.EXTRA}]'"
        )


def compile_graph(tosa: bytes, spec: EthosUCompileSpec) -> Compiled:
    """Compile a TOSA graph.

    Raises:
        BackendMissingError: Vela is not installed.
        LoweringError: Vela refuses the graph or the configuration, or fails; with its words.
        InterruptedExecutionError: the stage listener of this context asked for a stop.
    """
    check_installed()
    with stages.stage("vela"), tempfile.TemporaryDirectory(prefix="etlab-vela-") as made:
        folder = Path(made)
        (folder / f"{_NAME}.tosa").write_bytes(tosa)
        _run(folder, spec)
        try:
            stream = _stream(folder / f"{_NAME}_vela.npz")
            estimate = read_estimate(
                folder / f"{_NAME}_summary_{spec.system}.csv",
                folder / f"{_NAME}_debug.xml",
                spec,
                f"Vela {importlib.metadata.version(_PACKAGE)}",
            )
        except (OSError, KeyError, ValueError, TypeError) as error:
            raise LoweringError(
                f"Vela ended without a word, but what it wrote is not what this version of etlab"
                f" reads ({type(error).__name__}: {error}); etlab is made for {_PACKAGE} 5.2"
            ) from error
    return Compiled(stream, estimate)


def _run(folder: Path, spec: EthosUCompileSpec) -> None:
    """Run Vela on the graph in a folder, which is where its files go, too."""
    words = [
        *(sys.executable, "-P", "-m", _MODULE, *spec.compiler_flags, *_TELL_ALL),
        f"--output-dir={folder}",
        str(folder / f"{_NAME}.tosa"),
    ]
    said = folder / "said.txt"
    with said.open("wb") as output:
        process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT
        )
        try:
            _wait(process)
        finally:
            with contextlib.suppress(OSError):
                process.kill()
            process.wait()
    if process.returncode != 0:
        raise LoweringError(
            f"Vela refuses a subgraph for {spec.target} ({spec.system},"
            f" {spec.mode}): {_reason(said.read_text(errors='replace'), process)}. What the NPU"
            " is to take can be named: operators=[…] of the partitioner"
        )


def _wait(process: subprocess.Popen[bytes]) -> None:
    """Wait for the end; a stop request is honoured at once."""
    listener = stages.current()
    should_stop = listener.should_stop if listener is not None else None
    for _ in range(int(_MOST_SECONDS / _POLL_SECONDS)):
        try:
            process.wait(_POLL_SECONDS)
        except subprocess.TimeoutExpired:
            if should_stop is not None and should_stop():
                raise InterruptedExecutionError("stopped while Vela compiled") from None
        else:
            return
    raise LoweringError(f"Vela did not end within {_MOST_SECONDS:g} s: give the NPU less at once")


def _reason(said: str, process: subprocess.Popen[bytes]) -> str:
    """Why Vela failed: the words of its last exception, without the way there."""
    if process.returncode < 0:
        return f"it crashed with signal {-process.returncode}"
    trace, _, rest = said.rpartition("Traceback (most recent call last):")
    lines = rest.splitlines()
    start = next((i for i, line in enumerate(lines) if line and not line.startswith(" ")), 0)
    words = " ".join(line.strip() for line in lines[start:] if line.strip())
    for noise in ("RuntimeError: ", "Compilation failed: ", "ethosu.vela.errors."):
        words = words.replace(noise, "")
    return words[:_MOST_WORDS].rstrip(". ") or trace[-_MOST_WORDS:] or "it does not say why"


def _stream(path: Path) -> VelaStream:
    with np.load(path, allow_pickle=False) as arrays:
        scratch = int(arrays["scratch_shape"][0])
        return VelaStream(
            np.ascontiguousarray(arrays["cmd_data"]).tobytes(),
            np.ascontiguousarray(arrays["weight_data"]).tobytes(),
            scratch,
            _tensors(arrays, "input"),
            _tensors(arrays, "output"),
        )


def _tensors(arrays: "np.lib.npyio.NpzFile", what: str) -> tuple[StreamTensor, ...]:
    numbers = zip(
        arrays[f"{what}_shape"],
        arrays[f"{what}_elem_size"],
        arrays[f"{what}_offset"].astype(np.int64),  # unsigned: all bits set for -1
        arrays[f"{what}_region"],
        strict=True,
    )
    return tuple(
        StreamTensor(tuple(map(int, shape)), int(size), int(offset), int(region))
        for shape, size, offset, region in numbers
    )
