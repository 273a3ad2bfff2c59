import torch

from etlab.exir.passes.sym_shape_eval_pass import ConstraintBasedSymShapeEvalPass
from etlab.testing_graphs import check_pass


def test_the_graph_stays_as_it_is():
    _, changed = check_pass(ConstraintBasedSymShapeEvalPass(), torch.nn.ReLU(), torch.randn(2, 3))
    assert not changed
