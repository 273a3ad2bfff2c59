"""Singular values, eigenvectors and QR in programs with extended operators."""

import pytest
import torch
from exir.lowering import Function, lower, seeded

from etlab.errors import UnsupportedOperatorError
from etlab.runtime import Runtime
from etlab.testing import assert_same

linalg = torch.linalg
X = seeded(4, 3)


def _rebuilt(x):
    u, s, vh = linalg.svd(x, full_matrices=False)
    values, vectors = linalg.eigh(x.mT @ x)
    q, r = linalg.qr(x)
    return (u * s) @ vh, vectors @ (values.unsqueeze(-1) * vectors.mT), q @ r, s, values, r


FUNCTIONS = {
    "rebuilt": (_rebuilt, X),
    "values": (lambda x: (linalg.svdvals(x), linalg.eigvalsh(x @ x.mT)), X),
    "norms": (lambda x: (linalg.matrix_norm(x, "nuc"), linalg.norm(x, 2), linalg.cond(x)), X),
    "rank": (linalg.matrix_rank, torch.outer(torch.arange(4.0), torch.arange(3.0))),
    "pinv": (linalg.pinv, seeded(2, 4, 3)),
    "pinv of low rank": (linalg.pinv, torch.outer(torch.arange(4.0), torch.arange(3.0))),
    "pinv with limits": (lambda x: linalg.pinv(x, atol=0.5, rtol=0.1), seeded(5, 5)),
    "pinv of a Hermitian": (lambda x: linalg.pinv(x @ x.mT, hermitian=True), X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_what_they_make_is_what_eager_makes(name):
    function, x = FUNCTIONS[name]
    with pytest.warns(UserWarning, match="linalg"):
        program = lower(Function(function), x, extended_operators=True)
    outputs = Runtime.get().load_program(bytes(program.buffer)).load_method("forward").execute([x])
    wanted = torch.utils._pytree.tree_leaves(function(x))
    for actual, want in zip(outputs, wanted, strict=True):
        assert_same(actual, want)


def test_without_the_option_they_are_refused_with_its_name():
    with pytest.raises(UnsupportedOperatorError, match="extended_operators=True"):
        lower(Function(linalg.svdvals), X)
