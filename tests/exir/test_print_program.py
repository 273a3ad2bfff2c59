import io

import pytest
from exir.lowering import Function, lower, seeded

from etlab.errors import InvalidArgumentError
from etlab.exir import to_edge
from etlab.exir._serialize._program import deserialize_pte_binary
from etlab.exir.print_program import inspect_node, print_program
from etlab.testing_graphs import export_module

X = seeded(2, 3)


def graph_of(function):
    return to_edge(export_module(Function(function), (X,))).exported_program().graph


def test_a_node_is_pointed_at_with_the_line_it_comes_from():
    graph = graph_of(lambda x: x.sin() + 1)
    (sine,) = (node for node in graph.nodes if "sin" in str(node.target))
    text = inspect_node(graph, sine)
    (arrow,) = (line for line in text.splitlines() if line.startswith("-->"))
    assert f"%{sine.name}" in arrow
    assert "return self.function(*inputs)" in text
    assert len(text.splitlines()) > len(list(graph.nodes))


def test_a_node_of_another_graph_is_refused():
    other = next(iter(graph_of(lambda x: x + 1).nodes))
    with pytest.raises(InvalidArgumentError, match="no node of this graph"):
        inspect_node(graph_of(lambda x: x - 1), other)


def test_programs_are_printed_and_read_back():
    program = lower(Function(lambda x: x.sin()), X)
    own, read = io.StringIO(), io.StringIO()
    print_program(program.executorch_program, out=own)
    data = deserialize_pte_binary(bytes(program.buffer))
    print_program(data.program, out=read)
    assert own.getvalue() == read.getvalue()
    assert "aten::sin.out" in own.getvalue()
    (plan,) = data.program.execution_plan
    assert sum(plan.non_const_buffer_sizes) == program.memory_plan().peak
