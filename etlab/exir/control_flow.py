"""Branches and loops as jumps.

    cond(p, a, b)        unless p go to E; <a>; go to END; E: <b>; END:
    map, scan            i = 0; L: rows = x[i]; <body>; y[i] = out; i += 1; unless i == n go to L
    while_loop           L: <condition>; unless it holds go to END; <body>; go to L; END:

Bodies are written in place. What a body computes is assigned to the results of the whole, which
keep their memory through the loop.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import fx

from etlab.exir.emit.enums import TensorShapeDynamism
from etlab.exir.loop_carries import Carries
from etlab.exir.ops import (
    CLONE_DIM_ORDER,
    COPY_INDEX,
    PRIM_OPERATORS,
    PrimOperator,
    find_out_variant,
    scalar_prim,
)
from etlab.exir.schedule import Call, Flow, Label, Role, Value

_SELECT = find_out_variant(torch.ops.aten.select_copy.int)
_UNSQUEEZE = find_out_variant(torch.ops.aten.unsqueeze_copy.default)
_SYM_SIZE = PRIM_OPERATORS[torch.ops.aten.sym_size.int]

Inline = Callable[[Any, Sequence[Any]], list[Any]]
"""Writes a body (a `get_attr` node) with its operands; returns what it computes."""


class ControlFlow:
    """Writes the calls of control-flow operators.

    Args:
        calls: where to append them.
        inline: writes a body.
    """

    def __init__(self, calls: list[Call], inline: Inline) -> None:
        self._calls = calls
        self._inline = inline

    def cond(self, node: fx.Node, values: Sequence[Any], results: Sequence[Value]) -> None:
        """Both branches write the same results."""
        predicate, then_body, else_body, operands = values
        otherwise, end = Label(), Label()
        self._jump_unless(predicate, otherwise, node)
        self._branch(then_body, operands, results, node)
        self._jump_unless(False, end, node)
        self._place(otherwise)
        self._branch(else_body, operands, results, node)
        self._place(end)

    def map(self, node: fx.Node, values: Sequence[Any], results: Sequence[Value]) -> None:
        """Every row of the mapped tensors goes through the body."""
        body, mapped, operands = values
        self._over_rows(node, body, [], mapped, operands, results)

    def scan(self, node: fx.Node, values: Sequence[Any], results: Sequence[Value]) -> None:
        """As `map`, with values carried from row to row."""
        body, init, mapped, operands = values
        self._over_rows(node, body, init, mapped, operands, results)

    def while_loop(self, node: fx.Node, values: Sequence[Any], results: Sequence[Value]) -> None:
        """The carried values are the results."""
        condition, body, init, operands = values
        head, end = Label(carried=list(results)), Label()
        self._assign(init, results, node)
        self._place(head)
        (holds,) = self._inline(condition, [*results, *operands])
        self._jump_unless(holds, end, node)
        begin = len(self._calls)
        self._carry(self._inline(body, [*results, *operands]), results, node, begin)
        self._jump_unless(False, head, node)
        self._place(end)

    def _branch(
        self, body: Any, operands: Sequence[Any], results: Sequence[Value], node: fx.Node
    ) -> None:
        """A branch, whose last calls write the results themselves where they can."""
        begin = len(self._calls)
        outputs = self._inline(body, operands)
        written = {output for call in self._calls[begin:] for output in call.outputs}
        for output, result in zip(outputs, results, strict=True):
            alone = outputs.count(output) == 1 and output in written
            if alone and output.role is Role.RESULT and output.spec == result.spec:
                for call in self._calls[begin:]:
                    call.replace(output, result)
            else:
                self._assign([output], [result], node)

    def _over_rows(
        self,
        node: fx.Node,
        body: Any,
        init: Sequence[Any],
        mapped: Sequence[Value],
        operands: Sequence[Any],
        results: Sequence[Value],
    ) -> None:
        carries, stacks = list(results[: len(init)]), list(results[len(init) :])
        for stack in stacks:  # it grows by a row at a time
            assert stack.spec is not None
            stack.spec = replace(stack.spec, dynamism=TensorShapeDynamism.DYNAMIC_BOUND)
        index = Value(f"{node.name}_index", Role.NUMBER, number=0, node=node)
        count = Value(f"{node.name}_count", Role.NUMBER, number=0, node=node)
        done = Value(f"{node.name}_done", Role.NUMBER, number=False, node=node)
        head = Label(carried=[*carries, *stacks])
        self._calls.append(Call(_SYM_SIZE, [mapped[0], 0], [count], node))
        self._assign(init, carries, node)
        self._place(head)
        begin = len(self._calls)
        rows = [self._row(source, index, node) for source in mapped]
        outputs = self._inline(body, [*carries, *rows, *operands])
        for stack, output in zip(stacks, outputs[len(init) :], strict=True):
            if not output.spec.is_static:
                self._begin_stack(stack, output, index, node)
            self._calls.append(Call(COPY_INDEX, [stack, output, index], [stack], node))
        self._carry(outputs[: len(init)], carries, node, begin)
        self._number(scalar_prim("add"), [index, 1], index, node)
        self._number(scalar_prim("eq"), [index, count], done, node)
        self._jump_unless(done, head, node)
        self._number(scalar_prim("sub"), [index, count], index, node)  # ready for the next run

    def _begin_stack(self, stack: Value, row: Value, index: Value, node: fx.Node) -> None:
        """Give a stack its rows' size with the first; it only grows along its first dimension."""
        is_first = Value(f"{stack.name}_begins", Role.NUMBER, number=False, node=node)
        begun = Label()
        self._number(scalar_prim("eq"), [index, 0], is_first, node)
        self._jump_unless(is_first, begun, node)
        self._calls.append(Call(_UNSQUEEZE, [row, 0, stack], [stack], node, may_be_view=False))
        self._place(begun)

    def _row(self, source: Value, index: Value, node: fx.Node) -> Value:
        assert source.spec is not None
        spec = replace(source.spec, sizes=source.spec.sizes[1:])
        order = tuple(dim - 1 for dim in source.spec.dim_order if dim)
        row = Value(f"{source.name}_row", Role.RESULT, replace(spec, dim_order=order), node=node)
        self._calls.append(Call(_SELECT, [source, 0, index, row], [row], node))
        return row

    def _carry(
        self, sources: Sequence[Any], targets: Sequence[Value], node: fx.Node, begin: int
    ) -> None:
        """Give what a body computed to the next step, all at once as it were."""
        carries = Carries(self._calls[begin:], sources, targets)
        for source, target in carries.settle(lambda source: self._copy(source, node)):
            self._assign([source], [target], node)

    def _assign(self, sources: Sequence[Any], targets: Sequence[Value], node: fx.Node) -> None:
        """Copy values into others, none of which is one of them."""
        for source, target in zip(sources, targets, strict=True):
            if target.spec is None:
                self._calls.append(Call(Flow.MOVE, [source], [target], node))
            else:
                self._write(source, target, node)

    def _copy(self, source: Any, node: fx.Node) -> Any:
        if not isinstance(source, Value):
            return source
        copy = Value(f"{source.name}_copy", Role.RESULT, source.spec, node=node)
        if source.spec is None:
            copy.role, copy.number = Role.NUMBER, source.number
            self._calls.append(Call(Flow.MOVE, [source], [copy], node))
        else:
            self._write(source, copy, node)
        return copy

    def _write(self, source: Value, target: Value, node: fx.Node) -> None:
        assert target.spec is not None
        arguments = [source, False, list(target.spec.dim_order), target]
        self._calls.append(Call(CLONE_DIM_ORDER, arguments, [target], node, may_be_view=False))

    def _number(
        self, operator: PrimOperator, arguments: list[Any], result: Value, node: fx.Node
    ) -> None:
        self._calls.append(Call(operator, arguments, [result], node))

    def _jump_unless(self, condition: Any, label: Label, node: fx.Node) -> None:
        self._calls.append(Call(Flow.JUMP_UNLESS, [condition], [], node, label=label))

    def _place(self, label: Label) -> None:
        self._calls.append(Call(Flow.LABEL, [], [], label=label))
