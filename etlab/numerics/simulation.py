"""The quantized model as a backend computes it, in PyTorch: the backend brings its arithmetic."""

import contextlib
from collections.abc import Iterator
from typing import Any

import torch
from torch import fx
from torch.utils import _pytree

from etlab.errors import InvalidArgumentError
from etlab.exir import stages
from etlab.exir.edge import EdgeGraph, InputKind
from etlab.exir.graph import EdgeInterpreter
from etlab.exir.partition.delegate import LoweredModule
from etlab.exir.partition.registry import backend_class, backend_ids
from etlab.numerics.counterparts import counterparts
from etlab.numerics.parity import OpenPath, Path
from etlab.numerics.recording import Recording
from etlab.numerics.subject import Subject


class Simulator:
    """Runs a model after partitioning, its delegates with their backend's arithmetic.

    Args:
        run: the model.
        backend: name of the backend, such as "xnnpack".
        method: which method.

    Raises:
        NotFoundError: there is no such backend.
        InvalidArgumentError: nothing of the model is delegated to it, or it tells of no arithmetic.
    """

    def __init__(self, run: Subject, backend: str, method: str = "forward") -> None:
        """Look for its delegates."""
        self._edge = run.delegated.edge_graph(method)
        self._ids = backend_ids(backend)
        self._backend = backend
        parts = [one for one in self._edge.submodules.values() if isinstance(one, LoweredModule)]
        if not any(one.backend_id in self._ids for one in parts):
            raise InvalidArgumentError(
                f"simulate='{backend}': nothing of {run.name} is delegated to it; export with"
                f" partitioner='{backend}'"
            )
        self._sources = counterparts(self._edge, (run.quantized or run.exported).graph)

    def outputs(self, sample: tuple[Any, ...]) -> list[Any]:
        """The flat outputs for one sample."""
        return self._run(sample).results

    def run(self, sample: tuple[Any, ...]) -> Recording:
        """The values of the nodes that were lowered, by name; those that it computes."""
        walk = self._run(sample)
        values = {}
        for place, value in walk.found.items():
            if place in self._sources:
                values[self._sources[place]] = value
        return Recording(values, values)

    def _run(self, sample: tuple[Any, ...]) -> "_Walk":
        leaves = iter(_pytree.tree_leaves(sample))
        walk = _Walk(self._edge, self._ids, self._backend)
        inputs = [
            next(leaves)
            if spec.kind is InputKind.USER_INPUT
            else self._edge.tensors.get(str(spec.target))
            for spec in self._edge.inputs
        ]
        with torch.no_grad():
            outputs = walk.run(*inputs)
        kinds = [spec.kind.name for spec in self._edge.outputs]
        pairs = zip(kinds, outputs, strict=True)
        walk.results = [value for kind, value in pairs if kind == "USER_OUTPUT"]
        return walk


def simulated_path(run: Subject, backend: str) -> Path:
    """The quantized model with a backend's arithmetic, as a way to compute outputs."""

    @contextlib.contextmanager
    def opened() -> Iterator[OpenPath]:
        simulator = Simulator(run, backend)

        def call(sample: tuple[Any, ...]) -> list[Any]:
            with stages.stage("run quantized"):
                return simulator.outputs(sample)

        yield call

    return opened


class _Walk(EdgeInterpreter):
    """Interprets an edge graph; delegates are simulated. Values by part and node."""

    def __init__(self, edge: EdgeGraph, ids: set[str], backend: str) -> None:
        super().__init__(edge)
        self._ids = ids
        self._backend = backend
        self.found: dict[tuple[str, str], Any] = {}
        self.results: list[Any] = []

    def run_node(self, n: fx.Node) -> Any:
        result = super().run_node(n)
        self.found["", n.name] = result
        return result

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        lowered = args[0] if args else None
        if not isinstance(lowered, LoweredModule) or lowered.backend_id not in self._ids:
            return super().call_function(target, args, kwargs)
        values = backend_class(lowered.backend_id).simulate(
            lowered.original, args[1:], lowered.compile_specs
        )
        if values is None:
            raise InvalidArgumentError(
                f"simulate='{self._backend}': the backend tells of no arithmetic of its own"
            )
        part = next(name for name, held in self.edge.submodules.items() if held is lowered)
        self.found |= {(part, name): value for name, value in values.items()}
        outputs: Any = lowered.original.graph.output_node().args[0]
        return tuple(values[node.name] for node in outputs)
