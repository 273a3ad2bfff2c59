"""The compiler of EthosUBackend: a subgraph becomes TOSA, and TOSA a command stream."""

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from typing import Any

from torch.export import ExportedProgram

from etlab.backends.arm.ethosu.compile_spec import EthosUCompileSpec, read_compile_specs
from etlab.backends.arm.ethosu.stream import VelaStream, read_stream, write_stream
from etlab.backends.arm.ethosu.vela import compile_graph
from etlab.backends.arm.lowering import Lowered, lower
from etlab.backends.arm.tosa.backend import TOSABackend
from etlab.exir.edge import EdgeGraph
from etlab.exir.partition.backend import BackendDetails, PreprocessResult
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.estimate import Estimate
from etlab.exir.partition.host_only import HOST_TAG, host_key

GRAPH = "tosa"  # what the TOSA graph is kept as, beside the program


class EthosUBackend(BackendDetails):
    """Writes the streams that ExecuTorch's EthosUBackend gives to the NPU's driver.

    The TOSA graph is kept beside the program, where no device reads it, for TOSA's reference model.
    """

    differences = TOSABackend.differences

    @staticmethod
    def preprocess(
        edge_program: ExportedProgram, compile_specs: list[CompileSpec]
    ) -> PreprocessResult:
        """Compile a subgraph.

        Raises:
            BackendMissingError: Vela is not installed.
            LoweringError: Vela refuses the subgraph; the message has its words.
        """
        view: Any = edge_program
        spec = read_compile_specs({one.key: one.value for one in compile_specs})
        lowered = lower(view.edge_graph)
        compiled = compile_graph(lowered.data, spec)
        stream, outside = _place(compiled.stream, spec)
        processed = write_stream(stream)
        graph = host_key(GRAPH, processed)
        tags = {key: tag for key, (tag, _) in outside.items()}
        return PreprocessResult(
            processed,
            data_store_output={graph: lowered.data} | {k: data for k, (_, data) in outside.items()},
            external_tags={graph: HOST_TAG} | tags,
            estimate=_named(compiled.estimate, lowered),
        )

    @staticmethod
    def describe(processed: bytes) -> str:
        """What the stream holds, line by line."""
        from etlab.backends.arm.ethosu.dump import dump_stream

        return dump_stream(read_stream(processed))

    @staticmethod
    def simulate(
        subgraph: EdgeGraph, inputs: Sequence[Any], compile_specs: Sequence[CompileSpec]
    ) -> dict[str, Any] | None:
        """The subgraph with TOSA's integer arithmetic, which is the NPU's."""
        return TOSABackend.simulate(subgraph, inputs, compile_specs)


def _place(
    stream: VelaStream, spec: EthosUCompileSpec
) -> tuple[VelaStream, dict[str, tuple[str, bytes]]]:
    """The stream without what lies outside, and that: the file and the bytes by key."""
    contents = {"cmd_data": stream.commands, "weight_data": stream.weights}
    keys, outside = {}, {}
    for name, tag in spec.placements.items():
        key = hashlib.sha256(tag.encode("ascii") + b"\0" + contents[name]).hexdigest()
        keys[name] = key
        outside[key] = (tag, contents[name])
    return dataclasses.replace(stream, outside=keys), outside


def _named(estimate: Estimate, lowered: Lowered) -> Estimate:
    """The estimate with the nodes that its operators compute."""
    nodes = {value.tensor.name: node for node, value in lowered.values.items()}
    operators = {
        member.name: operation.node.name
        for operation in lowered.plan.operations.values()
        for member in operation.members
    }
    return dataclasses.replace(
        estimate,
        operators=tuple(
            dataclasses.replace(one, node=_node_of(one.name, nodes, operators))
            for one in estimate.operators
        ),
    )


def _node_of(name: str, nodes: dict[str, str], operators: dict[str, str]) -> str:
    """The operator that a tensor belongs to: it is its result, or named for it."""
    if name in nodes:
        return operators.get(nodes[name], nodes[name])
    return next((operators[part] for part in _beginnings(name) if part in operators), "")


def _beginnings(name: str) -> Iterator[str]:
    """The name, and shorter and shorter parts of it.

    >>> list(_beginnings("add_1_wide"))
    ['add_1_wide', 'add_1', 'add']
    """
    while name:
        yield name
        name = name.rpartition("_")[0]
