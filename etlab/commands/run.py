"""Run a method of a program, here or on a device.

A VALUE is a .npy file, another file with the bytes of a tensor (row-major, little-endian), or for
an input that is no tensor the value itself: 3, 0.5, true, none. --inputs may be repeated: one call
after the other, with the state that the one before left. Without it the inputs are zero, or random
numbers with --random. `etlab-run` is the same in C++.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from etlab import display
from etlab.commands._numbers import count
from etlab.devices.values import load_tensor, save_events, save_outputs
from etlab.errors import AccessError, EtlabError, InvalidArgumentError, NotFoundError
from etlab.runtime import (
    EventTrace,
    MethodMeta,
    Program,
    Runtime,
    TraceEvent,
    set_thread_count,
)

_Call = list[Any]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """What the command takes."""
    parser.add_argument("program", metavar="PROGRAM", help="a .pte file")
    parser.add_argument("--method", metavar="NAME", help="'forward' unless there is one only")
    parser.add_argument("--data", nargs="+", default=[], metavar="PTD", help="external weights")
    parser.add_argument("--inputs", nargs="*", action="append", metavar="VALUE")
    parser.add_argument("--random", type=int, metavar="SEED", help="random inputs")
    parser.add_argument(
        "--outputs",
        metavar="FOLDER",
        help="write output_<n>.npy and outputs.json there; with several calls in folders 0, 1, ...",
    )
    parser.add_argument(
        "--profile",
        action="store_true",
        help="the time of every instruction; events.csv in the folder of --outputs",
    )
    parser.add_argument(
        "--etdump", metavar="FILE", help="write the events of all runs for an Inspector"
    )
    parser.add_argument("--runs", type=count, default=1, metavar="N", help="of every call")
    parser.add_argument("--threads", type=count, metavar="N", help="of kernels")
    parser.add_argument("--map", action="store_true", help="map the file instead of reading it")
    parser.add_argument("--list", action="store_true", help="print the instructions")
    parser.add_argument(
        "--check-memory", action="store_true", help="find mistakes of the memory plan; slower"
    )


def run(arguments: argparse.Namespace) -> int:
    """Run and print."""
    if arguments.threads is not None:
        set_thread_count(arguments.threads)
    program = Runtime.get().load_program(
        Path(arguments.program), data_path=arguments.data, memory_map=arguments.map
    )
    name = arguments.method or _default_method(program)
    meta = program.metadata(name)
    _print_signature(meta, with_instructions=arguments.list)
    method = program.load_method(name, check_memory=arguments.check_memory or None)
    if method is None:
        raise NotFoundError(f"the program has no method '{name}'")
    calls = _calls(meta, arguments.inputs, arguments.random)
    folders = _folders(arguments.outputs, len(calls))
    times: list[float] = []
    trace = method.start_trace() if arguments.profile or arguments.etdump else None
    for call, folder in zip(calls, folders, strict=True):
        for repeat in range(arguments.runs):
            begin = time.perf_counter()
            outputs = method.execute(call)
            times.append(time.perf_counter() - begin)
            if repeat == 0:
                _finish_call(outputs, folder)
    best, median = min(times) * 1e3, statistics.median_high(times) * 1e3
    print(f"  {len(times)} runs: best {best:.3f} ms, median {median:.3f} ms")
    if trace is not None:
        _report(trace, meta, arguments)
    return 0


def _report(trace: EventTrace, meta: MethodMeta, arguments: argparse.Namespace) -> None:
    if arguments.etdump:
        trace.save(arguments.etdump)
    if not arguments.profile:
        return
    print(_profile_table(trace))
    if arguments.outputs:
        events = [
            (number, meta.instructions[event.instruction].kind, event)
            for number, run in enumerate(trace.runs)
            for event in run.events
        ]
        save_events(events, Path(arguments.outputs) / "events.csv")


def _default_method(program: Program) -> str:
    names = program.method_names
    return next(iter(names)) if len(names) == 1 else "forward"


def _print_signature(meta: MethodMeta, *, with_instructions: bool) -> None:
    backends = "".join(f", backend {name}" for name in meta.backend_names)
    print(f"{meta!r}: {meta.num_instructions()} instructions{backends}")
    for step in meta.instructions if with_instructions else ():
        print(f"  {step.index}: {step.kind} {step.name}".rstrip())


def _calls(
    meta: MethodMeta, words: Sequence[Sequence[str]] | None, seed: int | None
) -> list[_Call]:
    if words is None:
        generator = None if seed is None else torch.Generator().manual_seed(seed)
        return [[_made_up(meta, index, generator) for index in range(meta.num_inputs())]]
    for call in words:
        if len(call) != meta.num_inputs():
            raise InvalidArgumentError(
                f"method '{meta.name()}' takes {meta.num_inputs()} inputs, --inputs has {len(call)}"
            )
    return [[_input(meta, index, word) for index, word in enumerate(call)] for call in words]


def _made_up(meta: MethodMeta, index: int, generator: torch.Generator | None) -> torch.Tensor:
    if meta.input_kind(index) != "Tensor":
        raise InvalidArgumentError(
            f"input {index} of method '{meta.name()}' is no tensor: give the values with --inputs"
        )
    info = meta.input_tensor_meta(index)
    tensor = torch.zeros(info.sizes(), dtype=info.torch_dtype)
    if generator is not None and tensor.is_floating_point():
        tensor = torch.randn(info.sizes(), generator=generator).to(info.torch_dtype)
    return tensor


def _input(meta: MethodMeta, index: int, word: str) -> Any:
    kind = meta.input_kind(index)
    try:
        if kind == "Tensor":
            return _read_tensor(meta, index, Path(word))
        return _PARSERS[kind](word)
    except EtlabError as error:
        raise type(error)(f"input {index} of method '{meta.name()}': {error}") from None
    except (KeyError, ValueError):
        raise InvalidArgumentError(
            f"input {index} of method '{meta.name()}': expected {kind}, got '{word}'"
        ) from None


def _read_tensor(meta: MethodMeta, index: int, path: Path) -> torch.Tensor:
    if path.suffix == ".npy":
        return load_tensor(path)
    try:
        data = bytearray(path.read_bytes())
    except OSError as error:
        raise AccessError(f"cannot read {path}: {error.strerror}") from None
    info = meta.input_tensor_meta(index)
    if len(data) != info.nbytes():
        raise InvalidArgumentError(
            f"{path}: a file that is no .npy holds the {info.nbytes()} bytes of {info!r}; it has "
            f"{len(data)}"
        )
    if not data:
        return torch.zeros(info.sizes(), dtype=info.torch_dtype)
    return torch.frombuffer(data, dtype=info.torch_dtype).reshape(info.sizes())


_PARSERS: dict[str, Callable[[str], Any]] = {
    "int": int,
    "float": float,
    "bool": {"true": True, "false": False}.__getitem__,
    "None": {"none": None}.__getitem__,
    "str": str,
}


def _folders(outputs: str | None, count: int) -> list[Path | None]:
    if outputs is None:
        return [None] * count
    return [Path(outputs)] if count == 1 else [Path(outputs, str(call)) for call in range(count)]


def _finish_call(outputs: Sequence[Any], folder: Path | None) -> None:
    for index, value in enumerate(outputs):
        if isinstance(value, torch.Tensor):
            dtype = str(value.dtype).removeprefix("torch.")
            print(f"  output {index}: Tensor {dtype}{list(value.shape)}")
        else:
            print(f"  output {index}: {value}")
    if folder is not None:
        save_outputs(outputs, folder)


def _profile_table(events: Sequence[TraceEvent]) -> str:
    total = sum(event.duration for event in events) or 1
    rows = []
    for instruction in sorted({event.instruction for event in events}):
        mine = [event for event in events if event.instruction == instruction]
        durations = [event.duration for event in mine]
        rows.append(
            (
                instruction,
                len(mine),
                f"{statistics.mean(durations) / 1e3:.1f}",
                f"{min(durations) / 1e3:.1f}",
                f"{100 * sum(durations) / total:.1f}%",
                mine[0].name,
            )
        )
    return display.text_table(
        ("instruction", "calls", "mean us", "least us", "share", "name"), rows
    )
