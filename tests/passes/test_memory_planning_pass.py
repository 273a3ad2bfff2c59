"""A user's memory planning pass says in which memory a tensor lies."""

import pytest
import torch
from exir.lowering import Function, lower, seeded

from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.exir.memory_planning import greedy
from etlab.exir.passes import MemoryPlanningPass
from etlab.runtime import Runtime
from etlab.testing import assert_same


class CustomPools(MemoryPlanningPass):
    def run(self, graph_module, graph_signature):
        for node in graph_module.graph.nodes:
            if node.op == "placeholder":
                node.meta["spec"].mem_id = 1
            elif node.target == torch.ops.aten.add.out:
                node.meta["spec"].mem_id = 2
            elif node.target == torch.ops.aten.mul.out:
                node.meta["spec"].mem_id = 1
        return super().run(graph_module, graph_signature)


class Chosen(MemoryPlanningPass):
    """Puts everything into one memory, with an argument of its own."""

    def __init__(self, number):
        super().__init__()
        object.__setattr__(self, "number", number)

    def run(self, graph_module, graph_signature):
        for node in graph_module.graph.nodes:
            if node.op == "call_function":
                node.meta["spec"].mem_id = self.number
        return super().run(graph_module, graph_signature)


def model(x, y):
    return ((x + y) * y + x).sin()


X, Y = seeded(2, 3), seeded(2, 3, seed=1)


def test_tensors_lie_where_the_pass_says():
    program = lower(
        Function(model), X, Y, memory_planning_pass=CustomPools(memory_planning_algo=greedy)
    )
    tensors = program.memory_plan().tensors
    assert {tensor.memory_id for tensor in tensors if "add" in tensor.name} == {2}
    assert {tensor.memory_id for tensor in tensors if "add" not in tensor.name} == {1}
    method = Runtime.get().load_program(bytes(program.buffer)).load_method("forward")
    assert_same(method.execute([X, Y])[0], model(X, Y))


def test_a_pass_may_have_arguments_of_its_own():
    plan = lower(Function(model), X, Y, memory_planning_pass=Chosen(2)).memory_plan()
    assert {tensor.memory_id for tensor in plan.tensors} == {1, 2}


@pytest.mark.parametrize("number", [0, -1, "sram"])
def test_a_memory_without_a_number_from_one_is_refused(number):
    with pytest.raises(InvalidArgumentError, match="Chosen: a mem_id is a number from 1"):
        lower(Function(model), X, Y, memory_planning_pass=Chosen(number))


@pytest.mark.parametrize(
    ("options", "way_out"),
    [
        ({"allow_lifetime_and_storage_overlap": True}, "reuse_in_place=True"),
        ({"alloc_mutable_buffers": False}, "share_mutable_buffers=True"),
    ],
)
def test_what_is_not_served_is_refused_with_a_way_out(options, way_out):
    with pytest.raises(NotSupportedError, match=way_out):
        MemoryPlanningPass(**options)
