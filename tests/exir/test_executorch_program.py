import io
from pathlib import Path

import pytest
import torch
from exir.lowering import Function, Mlp, lower, seeded
from torch import nn

from etlab.errors import (
    AccessError,
    InvalidArgumentError,
    MemoryPlanError,
    NotFoundError,
    NotSupportedError,
    UnsupportedOperatorError,
)
from etlab.exir import ExecutorchBackendConfig, to_edge
from etlab.exir.emit.dump import dump_program
from etlab.exir.emit.file import read_program
from etlab.exir.emit.scalar_type import EXECUTABLE_DTYPES
from etlab.exir.memory import Interval, MemoryPlanningPass
from etlab.runtime import dtypes

GOLDEN = Path(__file__).parent.parent / "golden"


def test_the_text_of_a_program_is_as_reviewed() -> None:
    text = dump_program(lower(Mlp(), seeded(2, 5)).executorch_program) + "\n"
    assert text == (GOLDEN / "mlp.txt").read_text()


def test_the_file_reads_back_as_the_program() -> None:
    manager = lower(Mlp(), seeded(2, 5), emit_stacktrace=True)
    assert read_program(manager.buffer).program == manager.executorch_program


def test_the_same_model_gives_the_same_bytes() -> None:
    assert lower(Mlp(), seeded(2, 5)).buffer == lower(Mlp(), seeded(2, 5)).buffer


def test_all_ways_to_write_give_the_same_bytes(tmp_path: Path) -> None:
    manager = lower(Mlp(), seeded(2, 5))
    manager.save(tmp_path / "mlp.pte")
    file = io.BytesIO()
    manager.write_to_file(file)
    assert (tmp_path / "mlp.pte").read_bytes() == file.getvalue() == manager.buffer
    assert manager.nbytes == len(manager.buffer)


def test_a_name_without_the_suffix_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgumentError, match=r"\.pte"):
        lower(Mlp(), seeded(2, 5)).save(tmp_path / "mlp.bin")


def test_a_place_that_cannot_be_written_is_an_access_error(tmp_path: Path) -> None:
    with pytest.raises(AccessError, match=r"cannot write .*the folder .*missing does not exist"):
        lower(Mlp(), seeded(2, 5)).save(tmp_path / "missing" / "mlp.pte")


def test_weights_changed_after_lowering_are_noticed() -> None:
    model = Mlp()
    manager = lower(model, seeded(2, 5))
    with torch.no_grad():
        model.first.weight.mul_(2)
    with pytest.raises(InvalidArgumentError, match=r"first\.weight"):
        manager.buffer  # noqa: B018


def test_a_buffer_once_read_stays_as_it_was() -> None:
    model = Mlp()
    manager = lower(model, seeded(2, 5))
    before = manager.buffer
    with torch.no_grad():
        model.first.weight.mul_(2)
    assert manager.buffer is before


class Tied(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(50, 50, bias=False), nn.Linear(50, 50, bias=False)
        self.c = nn.Linear(50, 50, bias=False)
        self.b.weight = self.a.weight
        self.c.weight = nn.Parameter(self.a.weight.detach().clone())

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.a(x) + self.b(x) + self.c(x)


def test_equal_weights_are_stored_once() -> None:
    assert lower(Tied(), seeded(1, 50)).nbytes < 2 * 50 * 50 * 4


def test_constants_of_another_dtype_or_shape_share_their_bytes_only_when_equal() -> None:
    zeros = (torch.zeros(4), torch.zeros(2, 2), torch.zeros(4, dtype=torch.int32), torch.zeros(8))
    model = Function(lambda x: tuple(x.sum() + zero for zero in zeros))
    offsets = lower(model, seeded(1)).executorch_program.constant_segment.offsets
    assert offsets == (0, 0, 16)


def test_constants_start_at_multiples_of_the_alignment() -> None:
    manager = lower(Mlp(), seeded(2, 5), constant_tensor_alignment=64)
    segment = manager.executorch_program.constant_segment
    assert segment is not None
    assert [offset % 64 for offset in segment.offsets or ()] == [0] * 5


class Counter(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("count", torch.tensor([5.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.count.add_(1)
        return x + self.count


def test_state_keeps_its_initial_value_and_a_place_of_its_own() -> None:
    manager = lower(Counter(), seeded(1), emit_mutable_buffer_names=True)
    data = read_program(manager.buffer)
    mutable = (data.program.mutable_data_segments or ())[0]
    segment = data.segments[mutable.segment_index]
    assert bytes(segment) == torch.tensor([5.0]).numpy().tobytes()
    plan = manager.memory_plan()
    state = next(tensor for tensor in plan.tensors if tensor.name == "count")
    assert state.operator == "state"
    assert (state.first_use, state.last_use) == (0, len(plan.steps) - 1)
    assert "'count'" in dump_program(manager.executorch_program)


def test_constant_methods_follow_the_methods_in_their_order() -> None:
    values = {"size": 7, "name": "mlp", "scale": 0.5, "table": [torch.arange(3), {"a": True}]}
    manager = lower(Mlp(), seeded(2, 5), constant_methods=values)
    plans = manager.executorch_program.execution_plan or ()
    assert [plan.name for plan in plans] == ["forward", *values]
    assert [len(plan.outputs or ()) for plan in plans[1:]] == [1, 1, 1, 2]


def test_a_constant_method_must_not_hide_a_method() -> None:
    with pytest.raises(InvalidArgumentError, match="'forward'"):
        lower(Mlp(), seeded(2, 5), constant_methods={"forward": 1})


def test_methods_stand_in_the_order_of_their_names() -> None:
    exported = torch.export.export(Mlp(), (seeded(2, 5),), strict=False)
    manager = to_edge({"b": exported, "a": exported}).to_executorch()
    assert [plan.name for plan in manager.executorch_program.execution_plan or ()] == ["a", "b"]
    assert manager.nbytes < lower(Mlp(), seeded(2, 5)).nbytes + 2500
    assert manager.memory_plan("a").method == "a"


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="forward"):
        lower(Mlp(), seeded(2, 5)).memory_plan("backward")


class Small(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        low = x.to(torch.float8_e4m3fn)
        return low.to(torch.float32) + x


def test_a_dtype_without_kernels_is_refused_with_its_node_and_line() -> None:
    with pytest.raises(UnsupportedOperatorError) as caught:
        lower(Small(), seeded(3))
    assert "has dtype float8_e4m3fn, which no kernel takes" in str(caught.value)
    assert "low = x.to(torch.float8_e4m3fn)" in str(caught.value)
    with pytest.raises(UnsupportedOperatorError, match="input 'inputs_0' has dtype float8_e5m2"):
        lower(Function(lambda x: x.float()), seeded(3).to(torch.float8_e5m2))


def test_the_compiler_takes_the_dtypes_that_the_runtime_has() -> None:
    complex_dtypes = {torch.complex64, torch.complex128}
    assert set(dtypes._SCALAR_TYPES) - complex_dtypes == EXECUTABLE_DTYPES - complex_dtypes


class ReluAndExp(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.relu() + x.exp()


def test_all_operators_without_a_kernel_are_listed_with_their_lines() -> None:
    graph = to_edge(torch.export.export(ReluAndExp(), (seeded(3),), strict=False)).edge_graph()
    from etlab.exir.executorch_program import lower_to_executorch

    for node in list(graph.graph.nodes):
        if node.target in (torch.ops.aten.relu.default, torch.ops.aten.exp.default):
            node.target = torch.ops.aten.digamma.default
    with pytest.raises(UnsupportedOperatorError, match="2 operator calls") as error:
        lower_to_executorch({"forward": graph})
    assert str(error.value).count("test_executorch_program.py:") == 2
    with pytest.warns(UserWarning, match=r"aten::digamma\.out"):
        lower_to_executorch(
            {"forward": graph}, config=ExecutorchBackendConfig(extended_operators=True)
        )


def test_a_plan_of_a_wrong_planner_is_refused() -> None:
    def everything_at_zero(intervals: list[Interval]) -> list[int]:
        return [0] * len(intervals)

    planning = MemoryPlanningPass(memory_planning_algo=everything_at_zero)
    with pytest.raises(MemoryPlanError, match="overlap"):
        lower(Mlp(), seeded(2, 5), memory_planning_pass=planning)


def test_no_planning_pass_means_the_default() -> None:
    plain = lower(Mlp(), seeded(2, 5))
    assert lower(Mlp(), seeded(2, 5), memory_planning_pass=None).buffer == plain.buffer


def test_planning_can_differ_by_method() -> None:
    exported = torch.export.export(Mlp(), (seeded(2, 5),), strict=False)
    config = ExecutorchBackendConfig(memory_planning_pass={"a": "naive"})
    manager = to_edge({"b": exported, "a": exported}).to_executorch(config)
    assert manager.memory_plan("a").peak > manager.memory_plan("b").peak


def test_memory_of_inputs_and_outputs_can_be_the_callers() -> None:
    planning = MemoryPlanningPass(alloc_graph_input=False, alloc_graph_output=False)
    plan = lower(Mlp(), seeded(2, 5), memory_planning_pass=planning).memory_plan()
    assert [tensor.operator for tensor in plan.tensors] == ["aten::linear.out"]  # and relu in it


@pytest.mark.parametrize(
    "options",
    [{"external_constants": "weights"}, {"segment_alignment": 100}, {"delegate_alignment": 0}],
)
def test_options_that_are_not_served_are_refused(options: dict[str, object]) -> None:
    with pytest.raises((NotSupportedError, InvalidArgumentError), match=next(iter(options))):
        ExecutorchBackendConfig(**options)  # type: ignore[arg-type]


def test_passes_of_the_config_leave_the_edge_program_alone() -> None:
    from etlab.exir.passes.base import Pass, PassResult

    class ReluToExp(Pass):
        def run(self, graph):  # type: ignore[no-untyped-def]
            for node in graph.graph.nodes:
                if node.target == torch.ops.aten.relu.default:
                    node.target = torch.ops.aten.exp.default
            return PassResult(graph, True)

    edge = to_edge(torch.export.export(Mlp(), (seeded(2, 5),), strict=False))
    changed = edge.to_executorch(ExecutorchBackendConfig(passes=[ReluToExp()]))
    assert "aten::exp.out" in changed.memory_plan().steps
    assert "aten::relu.out" in edge.to_executorch().memory_plan().steps


def test_shared_buffers_of_different_sizes_are_refused_by_name() -> None:
    class Total(nn.Module):
        def __init__(self, size: int) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(size))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            self.total.add_(x)
            return self.total * 2

    exported = {
        str(size): torch.export.export(Total(size), (seeded(size),), strict=False)
        for size in (3, 5)
    }
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    with pytest.raises(MemoryPlanError, match=r"'total'.*method '3'.*'5'"):
        to_edge(exported).to_executorch(ExecutorchBackendConfig(memory_planning_pass=planning))
