"""Partitioning: grouping, delegate calls, documented partitioners and backends."""

import time

import pytest
import torch
from torch import fx, nn
from torch.nn import functional

from etlab.errors import BackendMissingError, InvalidArgumentError, LoweringError
from etlab.exir import CompileSpec, to_edge, to_edge_transform_and_lower
from etlab.exir.graph import run_edge_graph
from etlab.exir.partition import (
    BackendDetails,
    DelegationSpec,
    LoweredModule,
    Partitioner,
    PartitionResult,
    PreprocessResult,
    partition_by_support,
    tag_constant_data,
)
from etlab.exir.partition.grouping import group_supported
from etlab.exir.partition.lower import REASONS
from etlab.exir.verify import verify
from etlab.testing_graphs import export_module

torch.manual_seed(0)
X = torch.randn(3, 5)
aten = torch.ops.aten


class EchoBackend(BackendDetails):
    """Writes the names of the operators it gets."""

    @staticmethod
    def preprocess(edge_program, compile_specs):
        names = [str(n.target) for n in edge_program.graph.nodes if n.op == "call_function"]
        options = {spec.key: spec.value for spec in compile_specs}
        payload = ",".join(names).encode() + options.get("suffix", b"")
        return PreprocessResult(
            payload, debug_handle_map={0: (1, 2)}, data_store_output={"w": b"x"}
        )


class TakesOperators(Partitioner):
    """A partitioner as the documentation writes them."""

    def __init__(self, *operators, with_constants=True):
        self.operators = operators
        self.with_constants = with_constants
        self.spec = DelegationSpec("EchoBackend", [CompileSpec("suffix", b"!")])

    def partition(self, exported_program):
        for node in exported_program.graph.nodes:
            if node.op == "call_function" and node.target in self.operators:
                node.meta["delegation_tag"] = f"tag_{node.name}"
        tags = {
            n.meta["delegation_tag"]: self.spec
            for n in exported_program.graph.nodes
            if "delegation_tag" in n.meta
        }
        if self.with_constants:
            tag_constant_data(exported_program)
        return PartitionResult(exported_program, tags)


class TakesBySupport(Partitioner):
    def __init__(self, *operators, min_nodes=1):
        self.operators, self.min_nodes = operators, min_nodes

    def partition(self, exported_program):
        return partition_by_support(
            exported_program,
            DelegationSpec("EchoBackend"),
            lambda n: None if n.target in self.operators else "it is not wanted",
            min_nodes=self.min_nodes,
        )


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 7), nn.Linear(7, 2)

    def forward(self, x):
        return self.second(functional.relu(self.first(x)))


def _delegates(edge):
    return [m for m in edge.submodules.values() if isinstance(m, LoweredModule)]


def _check_same(manager, module, *inputs):
    edge = manager.edge_graph()
    verify(edge)
    outputs, _ = run_edge_graph(edge, inputs)
    torch.testing.assert_close(outputs[0], module(*inputs))
    return edge


def test_each_tag_becomes_a_call_with_its_constants():
    model = Mlp()
    manager = to_edge_transform_and_lower(
        export_module(model, [X]), partitioner=[TakesOperators(aten.linear.default)]
    )
    edge = _check_same(manager, model, X)
    first, second = _delegates(edge)
    assert first.processed_bytes == b"aten.linear.default!"
    assert first.debug_handle_map == {0: (1, 2)}
    assert first.named_data == {"w": b"x"}
    assert set(second.original.tensors) == {"second.weight", "second.bias"}
    assert not edge.tensors
    assert [spec.arg.name for spec in edge.inputs] == ["x"]


def test_untagged_constants_stay_inputs_of_the_delegate():
    partitioner = TakesOperators(aten.linear.default, with_constants=False)
    manager = to_edge(export_module(Mlp(), [X])).to_backend(partitioner)
    edge = manager.edge_graph()
    assert len(_delegates(edge)[0].original.inputs) == 3
    assert "first.weight" in edge.tensors


def test_constant_used_by_two_delegates_goes_to_both():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(5, 5)

        def forward(self, x):
            return self.layer(functional.relu(self.layer(x))) + self.layer.weight.sum()

    model = Shared()
    manager = to_edge_transform_and_lower(
        export_module(model, [X]), partitioner=[TakesOperators(aten.linear.default)]
    )
    edge = _check_same(manager, model, X)
    assert all("layer.weight" in d.original.tensors for d in _delegates(edge))


def test_managers_are_values():
    manager = to_edge(export_module(Mlp(), [X]))
    delegated = manager.to_backend(TakesOperators(aten.linear.default))
    assert not manager.edge_graph().submodules
    assert len(delegated.edge_graph().submodules) == 2


def test_exported_program_of_a_delegated_graph_runs():
    model = Mlp()
    manager = to_edge(export_module(model, [X])).to_backend(TakesOperators(aten.linear.default))
    program = manager.exported_program()
    assert isinstance(program, torch.export.ExportedProgram)
    torch.testing.assert_close(program.module()(X), model(X))


def _diamond(x):
    left = torch.sin(x)  # taken
    outside = torch.cos(left)  # left alone
    return torch.sin(outside) + torch.sin(left)


def test_groups_do_not_wait_for_themselves():
    manager = to_edge_transform_and_lower(
        export_module(_Calls(_diamond), [X]),
        partitioner=[TakesBySupport(aten.sin.default, aten.add.Tensor)],
    )
    edge = _check_same(manager, _Calls(_diamond), X)
    assert len(_delegates(edge)) == 2


def test_tag_that_waits_for_itself_is_refused():
    class OneTag(Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.target is aten.sin.default:
                    node.meta["delegation_tag"] = "all"
            return PartitionResult(exported_program, {"all": DelegationSpec("EchoBackend")})

    with pytest.raises(LoweringError, match="waits for itself"):
        to_edge(export_module(_Calls(_diamond), [X])).to_backend(OneTag())


def test_call_is_put_after_all_its_inputs():
    def function(x):
        a = torch.sin(x)
        b = torch.cos(a)  # uses the group early
        c = torch.cos(x)  # an input that the group gets late
        return b * torch.sin(c + a)

    taken = (aten.sin.default, aten.add.Tensor)
    manager = to_edge(export_module(_Calls(function), [X])).to_backend(TakesBySupport(*taken))
    edge = _check_same(manager, _Calls(function), X)
    assert len(_delegates(edge)) == 1


class _Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def test_reasons_are_kept_for_what_is_left():
    manager = to_edge(export_module(Mlp(), [X])).to_backend(TakesBySupport(aten.linear.default))
    relu = next(n for n in manager.edge_graph().graph.nodes if n.target is aten.relu.default)
    assert relu.meta[REASONS] == {"TakesBySupport": "it is not wanted"}


def test_groups_below_min_nodes_are_left_with_a_reason():
    partitioner = TakesBySupport(aten.linear.default, min_nodes=2)
    edge = to_edge(export_module(Mlp(), [X])).to_backend(partitioner).edge_graph()
    assert not edge.submodules
    linear = next(n for n in edge.graph.nodes if n.target is aten.linear.default)
    assert "min_nodes=2" in linear.meta[REASONS]["TakesBySupport"]


def test_written_buffers_stay_with_the_graph():
    class Counts(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(3, 5))

        def forward(self, x):
            self.count.add_(x)
            return self.count.sin()

    partitioner = TakesBySupport(aten.add.Tensor, aten.sin.default)
    edge = to_edge(export_module(Counts(), [X])).to_backend(partitioner).edge_graph()
    verify(edge)
    outputs, writes = run_edge_graph(edge, [X])
    torch.testing.assert_close(writes["count"], X)
    torch.testing.assert_close(outputs[0], X.sin())


def test_operator_kept_for_a_backend_is_not_taken_apart():
    class Keeps(TakesOperators):
        def ops_to_not_decompose(self, ep):
            return [aten.hardswish.default], None

    exported = export_module(_Calls(functional.hardswish), [X])
    manager = to_edge_transform_and_lower(exported, partitioner=[Keeps(aten.hardswish.default)])
    assert _delegates(manager.edge_graph())[0].processed_bytes == b"aten.hardswish.default!"


def test_operator_is_kept_only_where_the_filter_says():
    class KeepsOne(TakesOperators):
        def ops_to_not_decompose(self, ep):
            return [aten.hardswish.default], lambda node: node.name == "hardswish_1"

    def function(x):
        return functional.hardswish(functional.hardswish(x))

    exported = export_module(_Calls(function), [X])
    manager = to_edge_transform_and_lower(exported, partitioner=[KeepsOne(aten.hardswish.default)])
    edge = _check_same(manager, _Calls(function), X)
    assert len(_delegates(edge)) == 1


def test_operator_kept_and_then_not_taken_is_taken_apart_after_all():
    class Keeps(TakesOperators):
        def ops_to_not_decompose(self, ep):
            return [aten.hardswish.default], None

    exported = export_module(_Calls(functional.hardswish), [X])
    manager = to_edge_transform_and_lower(exported, partitioner=[Keeps()])
    targets = {str(n.target) for n in manager.edge_graph().graph.nodes}
    assert "aten.hardswish.default" not in targets
    _check_same(manager, _Calls(functional.hardswish), X)


def test_unknown_backend_and_wrong_results_are_named():
    class Missing(TakesOperators):
        def __init__(self):
            super().__init__(aten.relu.default)
            self.spec = DelegationSpec("NoSuchBackend")

    class Returns(Partitioner):
        def partition(self, exported_program):
            return None

    class Forgets(TakesOperators):
        def partition(self, exported_program):
            result = super().partition(exported_program)
            return PartitionResult(result.tagged_exported_program, {})

    manager = to_edge(export_module(Mlp(), [X]))
    with pytest.raises(BackendMissingError, match="NoSuchBackend"):
        manager.to_backend(Missing())
    with pytest.raises(InvalidArgumentError, match="PartitionResult"):
        manager.to_backend(Returns())
    with pytest.raises(InvalidArgumentError, match="partition_tags"):
        manager.to_backend(Forgets(aten.relu.default))


def test_methods_may_have_partitioners_of_their_own():
    programs = {"a": export_module(Mlp(), [X]), "b": export_module(Mlp(), [X])}
    manager = to_edge_transform_and_lower(
        programs, partitioner={"a": [TakesOperators(aten.linear.default)]}
    )
    assert manager.methods == {"a", "b"}
    assert len(manager.edge_graph("a").submodules) == 2
    assert not manager.edge_graph("b").submodules


def _random_graph(size, seed):
    generator = torch.Generator().manual_seed(seed)
    graph = fx.Graph()
    nodes = [graph.placeholder("x")]
    taken = set()
    for index in range(size):
        picks = torch.randint(max(0, len(nodes) - 12), len(nodes), (2,), generator=generator)
        node = graph.call_function(aten.add.Tensor, tuple(nodes[int(p)] for p in picks))
        node.meta["index"] = index
        if torch.rand((), generator=generator) < 0.6:
            taken.add(node)
        nodes.append(node)
    graph.output(nodes[-1])
    return graph, taken


def _has_cycle(graph, groups):
    """Contract the groups and look for a cycle, independently of the grouping."""
    unit = {node: index for index, group in enumerate(groups) for node in group}
    number = {node: unit.get(node, f"n{i}") for i, node in enumerate(graph.nodes)}
    edges = {}
    for node in graph.nodes:
        for source in node.all_input_nodes:
            if number[source] != number[node]:
                edges.setdefault(number[source], set()).add(number[node])
    state = {}
    for root in edges:
        stack = [(root, iter(edges.get(root, ())))]
        if state.get(root) == "done":
            continue
        state[root] = "open"
        while stack:
            current, rest = stack[-1]
            following = next(rest, None)
            if following is None:
                state[current] = "done"
                stack.pop()
            elif state.get(following) == "open":
                return True
            elif state.get(following) is None:
                state[following] = "open"
                stack.append((following, iter(edges.get(following, ()))))
    return False


@pytest.mark.parametrize("seed", range(8))
def test_groups_of_random_graphs_have_no_cycles(seed):
    graph, taken = _random_graph(150, seed)
    groups = group_supported(graph.nodes, taken.__contains__)
    assert sorted(n.name for g in groups for n in g) == sorted(n.name for n in taken)
    assert not _has_cycle(graph, groups)


def test_everything_supported_is_one_group():
    graph, _ = _random_graph(400, 0)
    calls = [node for node in graph.nodes if node.op == "call_function"]
    groups = group_supported(graph.nodes, lambda node: True)
    assert max(map(len, groups)) >= 0.95 * len(calls)


def _residual_chain(blocks):
    """Blocks of taken, left, taken, with a residual connection around each."""
    graph = fx.Graph()
    node = graph.placeholder("x")
    taken = set()
    for _ in range(blocks):
        first = graph.call_function(aten.sin.default, (node,))
        left = graph.call_function(aten.cos.default, (first,))
        second = graph.call_function(aten.sin.default, (left,))
        node = graph.call_function(aten.add.Tensor, (second, node))
        taken |= {first, second, node}
    graph.output(node)
    return graph, taken


def test_grouping_time_grows_linearly():
    def seconds(blocks):
        graph, taken = _residual_chain(blocks)
        begin = time.process_time()
        group_supported(graph.nodes, taken.__contains__)
        return time.process_time() - begin

    seconds(50)
    small = min(seconds(125) for _ in range(3))
    large = min(seconds(1000) for _ in range(3))
    assert large < 8 * small * 6
