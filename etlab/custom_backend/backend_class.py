"""`@etlab.backend`: a class of the user's becomes a partitioner, a compiler and a runtime part."""

import inspect
import json
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar

from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.custom_backend.definition import Definition
from etlab.custom_backend.stored_graph import StoredGraph
from etlab.errors import InvalidArgumentError
from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.backend import (
    BackendDetails,
    PreprocessResult,
    ValueOrigin,
    node_event_name,
)
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.helpers import names_of, partition_by_support, why_not_tensors
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult
from etlab.exir.partition.registry import register_partitioner
from etlab.quantize import register_quantizer
from etlab.runtime import NamedData, NodeObserver, register_backend

UserClass = TypeVar("UserClass", bound=type)
Function = TypeVar("Function", bound=Callable[..., Any])

_PARAMETERS = "parameters"


def backend_kernel(*operators: str) -> Callable[[Function], Function]:
    """Mark a method of a backend as what computes one or several operators.

    Args:
        *operators: names, with or without namespace and overload: "linear", "aten.linear.default".
    """
    if not operators or not all(isinstance(name, str) for name in operators):
        raise InvalidArgumentError(
            "backend_kernel: expected names of operators, as in @etlab.backend_kernel('linear')"
        )

    def mark(function: Function) -> Function:
        function.backend_operators = operators  # type: ignore[attr-defined]
        return function

    return mark


def backend(name: str) -> Callable[[UserClass], UserClass]:
    """Make a backend of a class; afterwards `etlab.export(…, partitioner=name)` uses it.

    The short way is a class that computes operators, one method each. It gets their arguments in
    the order of their schema, torch tensors and numbers, and returns tensors::

        @etlab.backend("saturating")
        class Saturating:
            \"\"\"Sums in integers of few bits, which stop at their largest value.\"\"\"

            operators = ("relu",)  # computed as PyTorch does

            def __init__(self, bits: int = 16):
                self.limit = 2 ** (bits - 1) - 1

            @etlab.backend_kernel("linear")
            def linear(self, x, weight, bias=None):
                ...

        run = etlab.export(model, inputs, partitioner="saturating:bits=12")

    Such a backend tells of every node: `run.profile`, `run.parity` and the graph views open it.
    Parameters of `__init__` are the partitioner's: numbers, strings, lists or None, stored in the
    program.

    What a class may have besides:

    - `takes(node)`: a further rule on an `fx.Node` of the edge graph; True takes it, a string is
      the reason why not.
    - `preprocess(subgraph) -> bytes`: compiles a subgraph, an `ExportedProgram`.
    - `load(processed)`: makes what `execute` gets instead of the bytes; called when a program is
      loaded.
    - `execute(processed, inputs)`: computes the outputs from the list of inputs. With a third
      parameter, `observer`, it can tell of its steps (`etlab.runtime.NodeObserver`; None in runs
      that are not traced). Without `preprocess`, `processed` is a `StoredGraph`.

    - `quantizer`: a subclass of `etlab.quantize.Quantizer` that can then be chosen by its name.

    The class's name is the backend's id in programs. A cell may be run again; methods that are
    loaded keep the class that they were loaded with.

    Args:
        name: what users choose the backend by.

    Raises:
        InvalidArgumentError: the class takes no operator or computes nothing, or the name is taken.
    """
    if not isinstance(name, str):
        raise InvalidArgumentError(
            "backend: expected a name, as in @etlab.backend('saturating') over the class"
        )

    def register(kind: UserClass) -> UserClass:
        definition = Definition.of(name, kind)
        summary = inspect.getdoc(kind) or f"the user's backend {kind.__name__}"
        compiler = type(kind.__name__, (CustomBackend,), {"definition": definition})
        partitioner = type(
            f"{kind.__name__}Partitioner",
            (CustomPartitioner,),
            {
                "definition": definition,
                "choice": name,
                "__doc__": summary,
                "__signature__": inspect.signature(kind),
            },
        )
        register_partitioner(name, partitioner, compiler)
        register_backend(kind.__name__, CustomRuntime(definition))
        if (quantizer := getattr(kind, "quantizer", None)) is not None:
            register_quantizer(quantizer)
        return kind

    return register


class CustomPartitioner(Partitioner):
    """Takes what the user's class takes; parameters are those of its constructor."""

    definition: ClassVar[Definition]

    def __init__(self, **parameters: Any) -> None:
        self._instance = self.definition.kind(**parameters)
        try:
            self._stored = json.dumps(parameters)
        except TypeError as error:
            raise InvalidArgumentError(
                f"backend '{self.definition.name}': {error}; parameters are stored in the program, "
                "so they must be numbers, strings, lists or None"
            ) from None

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what the backend takes."""
        spec = CompileSpec(_PARAMETERS, self._stored.encode())
        return partition_by_support(
            exported_program,
            DelegationSpec(self.definition.backend_id, [spec]),
            self.why_not,
            prefix=f"{self.definition.backend_id}_",
        )

    def why_not(self, node: fx.Node) -> str | None:
        """Why a node is left; None when it is taken."""
        if reason := why_not_tensors(node):
            return reason
        target: Any = node.target
        names = self.definition.operators
        if names and not names & names_of(target):
            return f"{target} is not among the operators of '{self.definition.name}'"
        if self.definition.has("takes"):
            answer = self._instance.takes(node)
            if isinstance(answer, str):
                return answer
            if not answer:
                return f"the rule of '{self.definition.name}' does not take it"
        return None

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[OpOverload], Callable[[fx.Node], bool] | None]:
        """The operators that the class names."""
        called = {node.target for node in ep.graph.nodes if isinstance(node.target, OpOverload)}
        return [o for o in called if self.definition.operators & names_of(o)], None


class CustomBackend(BackendDetails):
    """Compiles with the user's class, or stores the graph as it is."""

    definition: ClassVar[Definition]

    @classmethod
    def preprocess(
        cls, edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Compile a subgraph."""
        if cls.definition.has("preprocess"):
            instance = cls.definition.instance({s.key: s.value for s in compile_specs})
            processed = instance.preprocess(edge_program)
            if not isinstance(processed, bytes | bytearray | memoryview):
                raise InvalidArgumentError(
                    f"{cls.definition.backend_id}.preprocess: expected bytes, got "
                    f"{type(processed).__name__}"
                )
            return PreprocessResult(bytes(processed))
        view: Any = edge_program
        graph, nodes = StoredGraph.of(view.edge_graph)
        return PreprocessResult(
            graph.to_bytes(),
            debug_handle_map={
                node_event_name(call.kind, call.debug_handle): (call.debug_handle,)
                for call in graph.calls
            },
            value_origins={
                number: (ValueOrigin(node.name, tuple(range(node.meta["val"].dim()))),)
                for number, node in nodes.items()
            },
        )

    @classmethod
    def look_inside(cls, processed: bytes) -> StoredGraph | None:
        """The stored graph, where the class has no format of its own."""
        if cls.definition.has("preprocess"):
            return None
        return StoredGraph.from_bytes(processed)

    @classmethod
    def simulate(
        cls, subgraph: EdgeGraph, inputs: Sequence[Any], compile_specs: Sequence[CompileSpec]
    ) -> dict[str, Any] | None:
        """What the class's kernels compute, with the parameters that were chosen."""
        if cls.definition.has("execute"):
            return None
        graph, nodes = StoredGraph.of(subgraph)
        instance = cls.definition.instance({spec.key: spec.value for spec in compile_specs})
        compute = cls.definition.compute(instance)
        _, values = graph.run(compute, inputs)
        return {node.name: values[number] for number, node in nodes.items() if number in values}


class CustomRuntime:
    """Makes delegates from what `preprocess` wrote."""

    def __init__(self, definition: Definition) -> None:
        self._definition = definition

    def create(
        self, processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData
    ) -> "CustomDelegate":
        """Load one subgraph.

        Raises:
            InvalidProgramError: the bytes or the parameters are damaged.
        """
        definition = self._definition
        instance = definition.instance(compile_specs)
        loaded: Any = processed
        if not definition.has("preprocess"):
            loaded = StoredGraph.from_bytes(processed)
        if definition.has("load"):
            loaded = instance.load(loaded)
        if definition.has("execute"):
            return CustomDelegate(loaded, definition.execute(instance))
        compute = definition.compute(instance)

        def execute(graph: StoredGraph, inputs: list[Any], observer: NodeObserver | None) -> Any:
            return graph.run(compute, inputs, observer)[0]

        return CustomDelegate(loaded, execute)


class CustomDelegate:
    """One subgraph."""

    def __init__(self, loaded: Any, execute: Callable[..., Any]) -> None:
        self._loaded = loaded
        self._execute = execute

    def execute(self, inputs: list[Any], observer: NodeObserver | None) -> Sequence[Any]:
        """Run it."""
        outputs: Sequence[Any] = self._execute(self._loaded, inputs, observer)
        return outputs
