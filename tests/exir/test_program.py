"""The entry points: to_edge, managers, errors, provenance, and that time grows linearly."""

import collections
import gc
import time
import types

import pytest
import torch
from torch import nn
from torch.nn import functional

from etlab.errors import InvalidArgumentError, NotFoundError, UnsupportedOperatorError
from etlab.exir import EdgeCompileConfig, to_edge, to_edge_transform_and_lower
from etlab.exir.decompose import decompose
from etlab.exir.passes.remove_dead_code import RemoveDeadCode
from etlab.exir.stages import StageListener, listen
from etlab.runtime import Runtime
from etlab.testing_graphs import export_module

aten = torch.ops.aten
torch.manual_seed(0)
X = torch.randn(3, 5)


class Calls(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.function = function

    def forward(self, *inputs):
        return self.function(*inputs)


def _targets(edge):
    return {str(node.target) for node in edge.graph.nodes if node.op == "call_function"}


def test_unsupported_operators_are_listed_together_with_their_lines():
    class Unsupported(nn.Module):
        def forward(self, x):
            y = torch.special.bessel_j0(x)
            return torch.igamma(y, x)

    exported = export_module(Unsupported(), [X])
    with pytest.raises(UnsupportedOperatorError) as caught:
        to_edge(exported)
    message = str(caught.value)
    assert "aten.special_bessel_j0.default (node 'special_bessel_j0')" in message
    assert "aten.igamma.default (node 'igamma')" in message
    assert "y = torch.special.bessel_j0(x)" in message


def test_refusals_say_what_to_write_instead():
    exported = export_module(Calls(torch.linalg.eigvals), [torch.eye(3)])
    with pytest.raises(UnsupportedOperatorError, match="before the export"):
        to_edge(exported)


def test_unsupported_operators_pass_when_the_config_says_so():
    exported = export_module(Calls(torch.special.bessel_j0), [X])
    for config in (
        EdgeCompileConfig(_check_ir_validity=False),
        EdgeCompileConfig(_core_aten_ops_exception_list=[aten.special_bessel_j0.default]),
        EdgeCompileConfig(preserve_ops=[aten.special_bessel_j0.default]),
    ):
        edge = to_edge(exported, compile_config=config).edge_graph()
        assert "aten.special_bessel_j0.default" in _targets(edge)


def test_preserved_operators_are_not_taken_apart():
    exported = export_module(Calls(functional.silu), [X])
    config = EdgeCompileConfig(preserve_ops=[aten.silu.default])
    assert _targets(to_edge(exported, compile_config=config).edge_graph()) == {"aten.silu.default"}
    assert "aten.silu.default" not in _targets(to_edge(exported).edge_graph())


def test_every_node_says_where_it_comes_from():
    model = nn.Sequential(nn.Linear(5, 4), nn.SiLU(), nn.LayerNorm(4))
    exported = export_module(model, [X])
    names = {node.name for node in exported.graph.nodes}
    edge = to_edge(exported).edge_graph()
    for node in edge.graph.nodes:
        if node.op == "call_function":
            assert node.meta["from_node"] in names
            assert isinstance(node.meta["debug_handle"], int)
            assert "nn.modules" in str(node.meta["nn_module_stack"])
            assert "File" in node.meta["stack_trace"]
    handles = {n.meta["debug_handle"] for n in edge.graph.nodes if n.op == "call_function"}
    assert len(handles) == 3


def test_methods_and_constant_methods_are_named():
    programs = {"double": export_module(Calls(lambda x: x * 2), [X])}
    programs["sine"] = export_module(Calls(torch.sin), [X])
    manager = to_edge(programs, constant_methods={"get_length": 7})
    assert manager.methods == {"double", "sine"}
    assert manager.config_methods == {"get_length"}
    torch.testing.assert_close(manager.exported_program("sine").module()(X), X.sin())
    with pytest.raises(NotFoundError, match=r"forward.*double, sine"):
        manager.exported_program()
    with pytest.raises(NotFoundError, match="other"):
        manager.transform({"other": [RemoveDeadCode()]})


def test_exported_program_runs_with_state():
    class Counter(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.full((), 2.0))

        def forward(self, x, *, scale):
            self.count.add_(1)
            return {"scaled": x * self.count * scale}

    exported = torch.export.export(Counter(), (X,), {"scale": X + 1}, strict=False)
    program = to_edge(exported).exported_program()
    module = program.module()
    module(X, scale=X + 1)
    torch.testing.assert_close(module(X, scale=X + 1)["scaled"], X * 4 * (X + 1))


def test_named_tuples_come_back_as_themselves():
    pair = collections.namedtuple("pair", "a b")

    class Model(nn.Module):
        def forward(self, given):
            return {"both": pair(given.a + given.b, given.a), "rest": [given.b]}

    example = pair(torch.ones(2), torch.zeros(2))
    program = to_edge(torch.export.export(Model(), (example,))).to_executorch()
    method = Runtime.get().load_program(program.buffer).load_method("forward")
    outputs = method(example)
    assert type(outputs["both"]).__name__ == "pair"
    assert torch.equal(outputs["both"].a, torch.ones(2))
    assert torch.equal(outputs["rest"][0], torch.zeros(2))


def test_what_is_no_exported_program_is_refused():
    with pytest.raises(InvalidArgumentError, match=r"torch\.export\.export"):
        to_edge(nn.Linear(5, 4))


def test_lowering_leaves_the_exported_program_alone():
    exported = export_module(nn.Sequential(nn.Linear(5, 4), nn.ReLU()), [X])
    before = str(exported.graph)
    to_edge_transform_and_lower(exported)
    assert str(exported.graph) == before
    assert all("debug_handle" not in node.meta for node in exported.graph.nodes)


def test_stages_are_reported_and_the_collector_is_back():
    exported = export_module(nn.Linear(5, 4), [X])
    with listen(StageListener()) as listener:
        to_edge(exported)
    assert list(listener.seconds) == ["decompose", "edge passes"]
    assert gc.get_freeze_count() == 0


def test_tensors_made_in_forward_become_constants():
    exported = export_module(Calls(lambda x: x + torch.tensor([1.0, 2, 3, 4, 5])), [X])
    edge = to_edge(exported).edge_graph()
    assert len(edge.tensors) == 1
    assert _targets(edge) == {"aten.add.Tensor"}


def _chain(length):
    """An exported program of `length` calls, every third of them taken apart by a template."""

    def function(x):
        for _ in range(length // 3):
            x = functional.silu(x.sin().transpose(0, 1))
        return x

    return export_module(Calls(function), [torch.randn(4, 4)])


def test_lowering_time_grows_linearly():
    def seconds(program):
        begin = time.perf_counter()
        to_edge(program)
        return time.perf_counter() - begin

    small, large = _chain(500), _chain(4000)
    seconds(small)
    assert min(seconds(large) for _ in range(3)) < 8 * 2.5 * min(seconds(small) for _ in range(3))


def test_equal_calls_share_one_recorded_template(monkeypatch):
    from etlab.exir.decompose import paste

    calls = types.SimpleNamespace(count=0)
    original = paste.record

    def counted(*args, **kwargs):
        calls.count += 1
        return original(*args, **kwargs)

    monkeypatch.setattr(paste, "record", counted)
    x = torch.randn(3, 11, 13)  # a size that no other test uses
    program = export_module(Calls(lambda x: functional.mish(functional.mish(x))), [x])
    decompose(program)
    assert calls.count == 1
    decompose(export_module(Calls(functional.mish), [x + 1]))
    assert calls.count == 1


@pytest.mark.parametrize("name", ["", 3])
def test_a_method_needs_a_name(name):
    exported = export_module(nn.ReLU(), (torch.ones(2),))
    with pytest.raises(InvalidArgumentError, match="a method's name is a string"):
        to_edge({name: exported})


def test_no_program_at_all_is_refused():
    with pytest.raises(InvalidArgumentError, match="no program was given"):
        to_edge_transform_and_lower({})
