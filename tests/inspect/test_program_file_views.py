import pytest
from exir.lowering import Mlp, lower, seeded

from etlab.errors import InvalidProgramError, NotFoundError
from etlab.inspect.program_file import ProgramFile


def _file() -> ProgramFile:
    return ProgramFile(lower(Mlp(), seeded(2, 5)).buffer, name="mlp.pte")


def test_operators_are_counted() -> None:
    operators = _file().operators()
    assert [(row.operator, row.calls) for row in operators] == [
        ("aten::linear.out", 2),
        ("aten::relu.out", 1),
    ]
    assert {(row.library, row.has_kernel) for row in operators} == {("official", True)}


def test_the_memory_plan_is_the_compilers() -> None:
    assert _file().memory_plan().peak == lower(Mlp(), seeded(2, 5)).memory_plan().peak


def test_the_text_names_every_instruction() -> None:
    assert _file().dump().count("aten::linear.out(") == 2


def test_the_table_shows_each_method() -> None:
    html = _file()._repr_html_()
    assert "forward" in html
    assert "aten::linear.out" in html


def test_an_unknown_method_is_refused_with_the_known_ones() -> None:
    with pytest.raises(NotFoundError, match="forward"):
        _file().operators("backward")


def test_a_damaged_file_is_refused() -> None:
    with pytest.raises(InvalidProgramError):
        ProgramFile(b"\x10\x00\x00\x00ET12" + bytes(100)).methods  # noqa: B018


def test_a_file_alone_gives_a_graph_of_its_instructions() -> None:
    file = _file()
    graph = file.graph()
    plan = file.content.program.execution_plan[0]
    calls = [node for node in graph.nodes if node.kind in ("call", "delegate")]
    assert len(calls) == len(plan.chains[0].instructions)
    assert graph.title == file.name
    assert graph.nodes[0].kind == "input"
    assert (0, 1) in graph.edges
