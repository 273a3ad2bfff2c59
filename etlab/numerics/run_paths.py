"""The ways in which a run's outputs can be computed, by name."""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

from etlab.errors import InvalidArgumentError
from etlab.exir.partition.host_only import stand_in_of
from etlab.exir.partition.registry import backend_ids
from etlab.numerics import paths as ways
from etlab.numerics.paths import Path
from etlab.numerics.simulation import simulated_path
from etlab.numerics.subject import File, Subject

if TYPE_CHECKING:
    from etlab.exir import EdgeProgramManager


class BytesOfProgram(File, Protocol):
    """A program file with its bytes."""

    @property
    def data(self) -> bytes:
        """The whole file."""

    @property
    def host_data(self) -> bytes:
        """A .ptd file for computers only; empty where there is none."""


class RunWithPaths(Subject, Protocol):
    """A run: the model at its stages, and what it was exported with."""

    @property
    def example_inputs(self) -> tuple[Any, ...]:
        """Positional arguments of the export."""

    @property
    def paths(self) -> list[str]:
        """The names of the ways that it has."""

    @property
    def file(self) -> BytesOfProgram:
        """The program as a file."""


def stand_in_paths(delegated: "EdgeProgramManager") -> list[str]:
    """The paths on which something stands in for a device that runs delegates."""
    keys = {
        key
        for graph in delegated.edge_graphs.values()
        for part in graph.submodules.values()
        for key in getattr(part, "named_data", ())
    }
    return sorted({ways.DEVICE_PREFIX + name for key in keys if (name := stand_in_of(key))})


def paths_of(
    run: RunWithPaths, names: Sequence[str], simulate: str | None = None
) -> dict[str, Path]:
    """The paths of a run by name.

    Args:
        run: the run.
        names: those that are wanted; a device's begins with "device:".
        simulate: name of the backend with whose arithmetic "quantized" is computed.

    Raises:
        InvalidArgumentError: the run has no such path, or nothing to simulate.
        NotFoundError: no backend is called `simulate`.
    """
    file = run.file
    makers = {
        "eager": lambda: ways.module_path("eager", run.model),
        "exported": lambda: ways.exported_path("exported", run.exported),
        "native": lambda: ways.native_path(file.data, tensor_data=file.tensor_data),
        "official": lambda: ways.official_path(
            file.data,
            ways.flatten_arguments(run.example_inputs),
            tensor_data=file.tensor_data,
        ),
    }
    if run.quantized is not None:
        quantized = run.quantized
        makers["quantized"] = lambda: ways.exported_path("quantized", quantized)
    if simulate is not None:
        backend_ids(simulate)  # there is such a backend
    if simulate is not None and run.quantized is None:
        raise InvalidArgumentError(
            f"simulate={simulate!r}: this run has no path 'quantized' to compute so; export with a"
            " quantizer to have it"
        )
    if simulate is not None:
        makers["quantized"] = lambda: simulated_path(run, simulate)
    for name in names:
        if str(name).startswith(ways.DEVICE_PREFIX):
            makers[name] = functools.partial(
                ways.device_path,
                name,
                file.data,
                tensor_data=file.tensor_data,
                host_data=file.host_data,
            )
    if unknown := [name for name in names if name not in makers]:
        raise InvalidArgumentError(
            f"no path {', '.join(map(repr, unknown))} in this run: choose from "
            + ", ".join(run.paths)
        )
    return {name: makers[name]() for name in names}
