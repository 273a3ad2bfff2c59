"""User code ports by changing the root of its imports: the places that ExecuTorch documents."""

import importlib

import pytest
import torch
from exir.lowering import Function, lower, seeded
from torch import fx, nn
from torch.fx.passes.operator_support import OperatorSupportBase

from etlab.errors import InvalidArgumentError, LoweringError
from etlab.exir import ExecutorchBackendConfig, to_edge
from etlab.exir.backend.backend_api import LoweredBackendModule, to_backend
from etlab.exir.backend.backend_details import (
    BackendDetails,
    CompileSpec,
    ExportedProgram,
    PreprocessResult,
)
from etlab.exir.backend.canonical_partitioners.pattern_op_partitioner import (
    generate_pattern_op_partitions,
)
from etlab.exir.backend.partitioner import DelegationSpec, Partitioner, PartitionResult
from etlab.exir.backend.utils import format_delegated_graph, tag_constant_data
from etlab.exir.dialects._ops import ops as exir_ops
from etlab.exir.lowered_backend_module import get_lowered_submodules
from etlab.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy, naive
from etlab.exir.pass_base import ExportPass
from etlab.exir.pass_manager import PassManager
from etlab.exir.passes import MemoryPlanningPass
from etlab.exir.passes.init_mutable_pass import InitializedMutableBufferPass
from etlab.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_graphs import export_module

# The import lines of ExecuTorch's documentation and examples, root aside.
DOCUMENTED = """
exir: EdgeCompileConfig EdgeProgramManager ExecutorchBackendConfig ExecutorchProgramManager to_edge
exir: to_edge_transform_and_lower
exir.program: EdgeProgramManager ExecutorchProgramManager to_edge to_edge_transform_and_lower
exir.capture: EdgeCompileConfig ExecutorchBackendConfig
exir.capture._config: EdgeCompileConfig ExecutorchBackendConfig
exir.dialects._ops: ops
exir.pass_base: ExportPass PassBase PassResult NodeMetadata ProxyValue
exir.pass_manager: PassManager
exir.passes: MemoryPlanningPass
exir.passes.memory_planning_pass: MemoryPlanningPass
exir.passes.sym_shape_eval_pass: ConstraintBasedSymShapeEvalPass
exir.passes.init_mutable_pass: InitializedMutableBufferPass
exir.passes.quantize_io_pass: QuantizeInputs QuantizeOutputs
exir.passes.external_constants_pass: delegate_external_constants_pass_unlifted
exir.print_program: inspect_node print_program
exir._serialize._program: deserialize_pte_binary
exir.memory_planning: greedy naive MemoryPlanningAlgorithmSuite
exir.delegate: executorch_call_delegate
exir.lowered_backend_module: LoweredBackendModule executorch_call_delegate get_lowered_submodules
exir.backend.backend_api: LoweredBackendModule to_backend
exir.backend.backend_details: BackendDetails CompileSpec ExportedProgram PreprocessResult
exir.backend.compile_spec_schema: CompileSpec
exir.backend.partitioner: DelegationSpec Partitioner PartitionResult
exir.backend.utils: format_delegated_graph print_delegated_graph tag_constant_data
exir.backend.canonical_partitioners.pattern_op_partitioner: generate_pattern_op_partitions
runtime: Runtime Program Method Verification
backends.xnnpack.partition.xnnpack_partitioner: XnnpackPartitioner
backends.xnnpack.partition.xnnpack_partitioner: XnnpackFloatingPointPartitioner
backends.xnnpack.utils.configs: get_xnnpack_edge_compile_config get_transform_passes
backends.xnnpack.utils.configs: get_xnnpack_executorch_backend_config
backends.xnnpack.quantizer.xnnpack_quantizer: XNNPACKQuantizer get_symmetric_quantization_config
devtools: BundledProgram Inspector generate_etrecord parse_etrecord
devtools.inspector: Event EventBlock Inspector PerfData TimeScale compare_results
devtools.etrecord: ETRecord generate_etrecord parse_etrecord
devtools.backend_debug: get_delegation_info print_delegation_info
devtools.bundled_program.config: MethodTestCase MethodTestSuite
devtools.bundled_program.core: BundledProgram
devtools.bundled_program.serialize: serialize_from_bundled_program_to_flatbuffer
devtools.bundled_program.serialize: deserialize_from_flatbuffer_to_bundled_program
extension.export_util.utils: save_pte_program
extension.pybindings.portable_lib: _load_for_executorch _load_for_executorch_from_buffer
util.activation_memory_profiler: generate_memory_trace
"""
aten = torch.ops.aten
X, Y = seeded(2, 3), seeded(2, 3, seed=1)


class AddMul(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(seeded(2, 3, seed=2))

    def forward(self, x, y):
        return (x + y) * self.weight - y


@pytest.mark.parametrize("line", DOCUMENTED.split("\n")[1:-1])
def test_documented_names_are_where_they_are_documented(line):
    place, names = line.split(": ")
    module = importlib.import_module(f"etlab.{place}")
    for name in names.split():
        assert getattr(module, name).__doc__ or name in ("ops", "ExportedProgram")


# ---- passes ---------------------------------------------------------------------------------


class MulSubForAdd(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op != exir_ops.edge.aten.add.Tensor:
            return super().call_operator(op, args, kwargs, meta)
        product = super().call_operator(exir_ops.edge.aten.mul.Tensor, args, {}, meta)
        return super().call_operator(exir_ops.edge.aten.sub.Tensor, (product, args[1]), {}, meta)


class WithoutSines(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        return args[0] if op is aten.sin.default else super().call_operator(op, args, kwargs, meta)


class Doubled(ExportPass):
    def call_operator(self, op, args, kwargs, meta):
        if op is aten.mul.Tensor:
            args = (args[0], torch.tensor(2.0))
        return super().call_operator(op, args, kwargs, meta)


def both(x, y):
    z = x.sin() + y
    return torch.cond(z.sum() > 0, lambda a: a + 1 + z, lambda a: a.sin() * 1, (x,)), z.topk(2)


def computed(function, one_pass, *inputs):
    manager = to_edge(export_module(Function(function), inputs)).transform([one_pass])
    program = bytes(manager.to_executorch().buffer)
    method = Runtime.get().load_program(program).load_method("forward")
    return method.execute(list(inputs))


@pytest.mark.parametrize(
    ("one_pass", "function", "wanted"),
    [
        (MulSubForAdd(), lambda x, y: (x + y).cos(), lambda x, y: (x * y - y).cos()),
        (WithoutSines(), lambda x, y: x.sin() + y.sin(), lambda x, y: x + y),
        (Doubled(), lambda x, y: x * y, lambda x, y: x * 2),
        (
            WithoutSines(),
            both,
            lambda x, y: (x + 1 + (x + y) if (x + y).sum() > 0 else x, *(x + y).topk(2)),
        ),
        (
            PassManager([WithoutSines(), MulSubForAdd()]),
            lambda x, y: x.sin() + y,
            lambda x, y: x * y - y,
        ),
    ],
    ids=["one_to_two", "one_to_none", "constant", "in_branches", "manager"],
)
def test_passes_written_by_call_rewrite_what_they_say(one_pass, function, wanted):
    expected = torch.utils._pytree.tree_leaves(wanted(X, Y))
    for got, want in zip(computed(function, one_pass, X, Y), expected, strict=True):
        assert_same(got, want)


def test_a_pass_that_changes_nothing_says_so_and_keeps_names_and_metadata():
    manager = to_edge(export_module(AddMul(), (X, Y)))
    after = manager.transform([WithoutSines()])
    assert not after.pass_records()[-1].changed
    before_nodes, after_nodes = manager.edge_graph().graph.nodes, after.edge_graph().graph.nodes
    for old, new in zip(before_nodes, after_nodes, strict=True):
        assert (old.name, old.meta) == (new.name, new.meta)


def test_a_tensor_of_several_elements_in_a_call_is_refused():
    class Adds(ExportPass):
        def call_operator(self, op, args, kwargs, meta):
            return super().call_operator(op, (args[0], torch.ones(3)), kwargs, meta)

    with pytest.raises(InvalidArgumentError, match="Adds passes a tensor of size"):
        to_edge(export_module(AddMul(), (X, Y))).transform([Adds()])


# ---- memory ---------------------------------------------------------------------------------


@pytest.mark.parametrize("algorithm", [greedy, naive, "greedy", MemoryPlanningAlgorithmSuite()])
def test_planners_plan(algorithm):
    options = MemoryPlanningPass(memory_planning_algo=algorithm)
    plan = lower(AddMul(), X, Y, memory_planning_pass=options).memory_plan()
    assert plan.peak > 0


def test_a_suite_keeps_the_smallest_plan():
    def turned(x):
        square = x.T @ x
        return square @ square @ square @ square @ x.T

    def peak(algorithm):
        options = MemoryPlanningPass(algorithm)
        return lower(Function(turned), X, memory_planning_pass=options).memory_plan().peak

    assert peak(MemoryPlanningAlgorithmSuite([naive, greedy])) == peak(greedy) < peak(naive)


def test_options_that_etlab_always_follows_are_taken():
    sizes = {0: torch.export.Dim("rows", max=9)}
    program = lower(
        Function(lambda x: x + 1),
        X,
        dynamic_shapes=((sizes,),),
        sym_shape_eval_pass=ConstraintBasedSymShapeEvalPass(),
        passes=[InitializedMutableBufferPass(["count"])],
    )
    assert program.nbytes > 0
    with pytest.raises(InvalidArgumentError, match="sym_shape_eval_pass"):
        ExecutorchBackendConfig(sym_shape_eval_pass=object())


# ---- backends -------------------------------------------------------------------------------


class PlacesDemo(BackendDetails):
    """Writes down the operators of a subgraph."""

    @staticmethod
    def preprocess(edge_program: ExportedProgram, compile_specs: list[CompileSpec]):
        names = [str(n.target) for n in edge_program.graph.nodes if n.op == "call_function"]
        text = ",".join([*names, *(f"{s.key}={s.value.decode()}" for s in compile_specs)])
        return PreprocessResult(processed_bytes=text.encode())


class AddMulSupport(OperatorSupportBase):
    def is_node_supported(self, submodules, node):
        wanted = (exir_ops.edge.aten.add.Tensor, exir_ops.edge.aten.mul.Tensor)
        return node.op == "call_function" and node.target in wanted


class AddMulPartitioner(Partitioner):
    def __init__(self):
        super().__init__()
        self.delegation_spec = DelegationSpec(PlacesDemo.__name__, [CompileSpec("level", b"2")])

    def partition(self, edge_exported_program):
        tags = {}
        module = edge_exported_program.graph_module
        for part in generate_pattern_op_partitions(module, op_support=AddMulSupport()):
            tag = f"tag{part.id}"
            for node in part.nodes:
                node.meta["delegation_tag"] = tag
            tags[tag] = self.delegation_spec
        tag_constant_data(edge_exported_program)
        return PartitionResult(edge_exported_program, tags)


def test_documented_partitioners_give_documented_backends_their_part():
    edge = to_edge(export_module(AddMul(), (X, Y)))
    for lowered in (
        edge.to_backend(AddMulPartitioner()).exported_program(),
        to_backend(edge.exported_program(), AddMulPartitioner()),
    ):
        ((_, module, _),) = get_lowered_submodules(lowered.graph_module)
        assert isinstance(module, LoweredBackendModule)
        assert module.processed_bytes == b"aten.add.Tensor,aten.mul.Tensor,level=2"
        assert [s.key for s in module.compile_specs] == ["level"]
        assert_same(lowered.module()(X, Y), AddMul()(X, Y))
        text = format_delegated_graph(lowered.graph_module)
        assert "  PlacesDemo:" in text
        assert "aten.add.Tensor" in text
        again = to_backend(lowered, AddMulPartitioner())
        assert len(get_lowered_submodules(again.graph_module)) == 1


def test_a_whole_program_is_lowered_and_saved_as_a_call_of_its_delegate():
    program = to_edge(export_module(AddMul(), (X, Y))).exported_program()
    lowered = to_backend("PlacesDemo", program, [CompileSpec("level", b"3")])
    assert lowered.processed_bytes.endswith(b"level=3")
    assert_same(lowered(X, Y)[0], AddMul()(X, Y))
    assert_same(lowered.original_module.module()(X, Y), AddMul()(X, Y))
    meta = Runtime.get().load_program(lowered.buffer()).metadata("forward")
    assert meta.num_inputs() == 2


def test_a_program_with_state_is_not_lowered_whole():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            self.count.add_(1)
            return x + self.count

    program = to_edge(export_module(Counter(), (X,))).exported_program()
    with pytest.raises(LoweringError, match="writes count"):
        to_backend("PlacesDemo", program, [])


def test_other_arguments_of_to_backend_are_refused():
    with pytest.raises(InvalidArgumentError, match=r"expected .backend id, exported program"):
        to_backend(AddMulPartitioner(), "PlacesDemo")


def test_patterns_are_found():
    def pattern(x, y):
        return aten.mul.Tensor(aten.add.Tensor(x, y), y)

    module = to_edge(
        export_module(
            Function(
                lambda x, y: ((x + y) * y).sin(),
            ),
            (X, Y),
        )
    )
    graph_module = module.exported_program().graph_module
    (part,) = generate_pattern_op_partitions(graph_module, [fx.symbolic_trace(pattern).graph])
    targets = {node.target for node in part.nodes}
    assert targets == {aten.add.Tensor, aten.mul.Tensor}
