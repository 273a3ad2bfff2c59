import pytest
import torch
from exir.lowering import Function, lower, seeded

from etlab.errors import UnsupportedOperatorError
from etlab.exir.passes.expand_qr import ExpandQr
from etlab.numerics.official import OfficialRuntime, is_available
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_graphs import check_pass

MATRICES = {
    "tall": seeded(5, 3),
    "wide": seeded(3, 5),
    "square": seeded(4, 4),
    "batch": seeded(2, 3, 4, 3),
    "one column": seeded(5, 1),
    "one row": seeded(1, 3),
    "in double": seeded(4, 3).double(),
    "upper already": torch.triu(seeded(4, 4)),
    "zero": torch.zeros(3, 2),
}
SINGULAR = torch.outer(torch.arange(1.0, 5.0), torch.arange(1.0, 4.0))


@pytest.mark.parametrize("mode", ["reduced", "complete", "r"])
@pytest.mark.parametrize("name", MATRICES)
def test_reflections_are_eagers(name, mode):
    edge, changed = check_pass(
        ExpandQr(), Function(lambda x: torch.linalg.qr(x, mode)), MATRICES[name]
    )
    assert changed
    assert not any("linalg_qr" in str(node.target) for node in edge.graph.nodes)


def test_a_singular_matrix_is_the_product():
    def rebuilt(x):
        q, r = torch.linalg.qr(x)
        return q @ r, q.mT @ q

    program = lower(Function(rebuilt), SINGULAR)
    product, side = (
        Runtime.get().load_program(bytes(program.buffer)).load_method("forward")(SINGULAR)
    )
    assert_same(product, SINGULAR)
    assert_same(side, torch.eye(3))


@pytest.mark.skipif(not is_available(), reason="executorch is not installed")
def test_the_official_runtime_runs_it():
    x = seeded(5, 3)
    program = lower(Function(torch.linalg.qr), x)
    assert not any("linalg" in step for step in program.memory_plan().steps)
    with OfficialRuntime(bytes(program.buffer)) as runtime:
        outputs = runtime.execute([x])
    for actual, wanted in zip(outputs, torch.linalg.qr(x), strict=True):
        assert_same(actual, wanted)


def test_matrices_of_many_columns_stay_whole():
    x = seeded(40, 33)
    _, changed = check_pass(ExpandQr(), Function(lambda x: torch.linalg.qr(x, "r")[1]), x)
    assert not changed
    with pytest.raises(UnsupportedOperatorError, match="extended_operators=True"):
        lower(Function(torch.linalg.qr), x)
