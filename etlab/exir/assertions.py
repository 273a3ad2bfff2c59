"""Assertions as calls: what stops a program where `torch._check` fails in eager.

    _assert_scalar(holds, text)      fails = not holds; unless fails go to E; gelu(0, text); E:

No operator of the official runtime asserts. But its GELU refuses an approximation that it does not
know and says what it was asked for: there the text stands.
"""

from typing import Any

import torch
from torch import fx

from etlab.exir.ops import PRIM_OPERATORS, OutVariant, find_out_variant
from etlab.exir.schedule import Call, Flow, Label, Role, Value
from etlab.exir.specs import TensorSpec

SCALAR = torch.ops.aten._assert_scalar.default
TENSOR = torch.ops.aten._assert_async.msg

# The assertions that an edge graph keeps; calls without a result that nevertheless do something.
KEPT: frozenset[Any] = frozenset({SCALAR, TENSOR})
# How the text of one begins, by which etlab's own kernel knows it.
PREFIX = "assertion failed"


def assertion_calls(node: fx.Node, holds: Value) -> list[Call]:
    """The calls that fail with the node's text unless `holds`, a boolean number or tensor."""
    if holds.spec is None:
        fails = Value(f"{node.name}_fails", Role.NUMBER, number=False, node=node)
        negation = Call(PRIM_OPERATORS[torch.sym_not], [holds], [fails], node)
    else:
        fails = Value(f"{node.name}_fails", Role.RESULT, spec=holds.spec, node=node)
        negation = Call(_out_variant(torch.ops.aten.logical_not), [holds, fails], [fails], node)
    end = Label()
    spec = TensorSpec(torch.float32, (), ())
    zero = Value(f"{node.name}_zero", Role.CONSTANT, spec=spec, data=torch.zeros(()))
    never = Value(f"{node.name}_never", Role.RESULT, spec=spec, node=node)
    return [
        negation,
        Call(Flow.JUMP_UNLESS, [fails], [], node, label=end),
        Call(_out_variant(torch.ops.aten.gelu), [zero, node.args[1], never], [never], node),
        Call(Flow.LABEL, [], [], label=end),
    ]


def _out_variant(packet: Any) -> OutVariant:
    variant = find_out_variant(packet.default)
    assert variant is not None
    return variant
