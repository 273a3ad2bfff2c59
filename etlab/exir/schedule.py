"""A method as the list of calls it will be: what lies between the edge graph and the file.

The edge graph is not edited for emission. `to_out` walks it once and makes `Call`s on `Value`s;
layout conversions and views are settled on that list, then memory is planned for its values.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import torch
from torch import fx
from torch.utils._pytree import TreeSpec

from etlab.exir.ops import OutVariant, PrimOperator
from etlab.exir.specs import TensorSpec


class Role(Enum):
    """Where a value comes from."""

    INPUT = "input"
    CONSTANT = "constant"
    STATE = "state"  # a buffer that the method changes
    RESULT = "result"
    NUMBER = "number"  # computed at run time, no tensor


@dataclass(slots=True, eq=False)
class Value:
    """Something that calls read or write.

    Attributes:
        name: of its node, or of its parameter.
        role: where it comes from.
        spec: None for numbers.
        data: the bytes of constants; the initial ones of state.
        number: the value of a number that is an input, or the type that will be computed (as 0).
        base: the value whose memory this one shares.
        node: the graph node that made it.
        target: fully qualified name of a parameter or buffer.
        is_planned: whether the method's own arenas hold it.
        external_tag: of a constant, the .ptd file that holds it; None for the program itself.
    """

    name: str
    role: Role
    spec: TensorSpec | None = None
    data: torch.Tensor | None = None
    number: Any = None
    base: "Value | None" = None
    node: fx.Node | None = None
    target: str | None = None
    is_planned: bool = True
    external_tag: str | None = None

    @property
    def root(self) -> "Value":
        """The value that owns the memory."""
        value = self
        while value.base is not None:
            value = value.base
        return value


class Flow(Enum):
    """What a call is that runs no kernel."""

    JUMP_UNLESS = "jump"  # to the label, when the argument is false
    MOVE = "move"  # the argument's value into the output's, for numbers
    LABEL = "label"  # a place to jump to; no instruction


@dataclass(slots=True, eq=False)
class Label:
    """A place to jump to.

    Attributes:
        carried: values that keep their memory all through the loop that begins here.
        position: the instruction, once labels are resolved.
    """

    carried: list[Value] = field(default_factory=list)
    position: int = -1


@dataclass(slots=True, eq=False)
class Call:
    """One instruction to be.

    Attributes:
        operator: what runs; None for a delegate.
        arguments: in the order of the operator's schema, outputs included; values, Python
            constants and lists of both. Of a delegate: its inputs.
        outputs: what is written; a list output gives several.
        node: the graph node it came from.
        delegate: the lowered module that runs.
        label: where a jump leads, or what place a label marks.
        may_be_view: whether the result may share its input's memory.
    """

    operator: OutVariant | PrimOperator | Flow | None
    arguments: list[Any]
    outputs: list[Value]
    node: fx.Node | None = None
    delegate: Any = None
    label: Label | None = None
    may_be_view: bool = True

    @property
    def name(self) -> str:
        """The operator, or the backend."""
        if self.operator is None:
            return f"delegate {self.delegate.backend_id}"
        if isinstance(self.operator, Flow):
            return self.operator.value
        return self.operator.full_name

    def replace(self, old: Value, new: Value) -> None:
        """Read and write `new` instead of `old`."""
        self.arguments = [
            [new if item is old else item for item in argument]
            if type(argument) is list
            else (new if argument is old else argument)
            for argument in self.arguments
        ]
        if old in self.outputs:
            self.outputs = [new if output is old else output for output in self.outputs]
            self.may_be_view = False

    def values(self) -> Iterator[Value]:
        """Every value it reads or writes."""
        for argument in self.arguments:
            if type(argument) is Value:
                yield argument
            elif type(argument) is list:
                for item in argument:
                    if type(item) is Value:
                        yield item
        yield from self.outputs


@dataclass(slots=True, eq=False)
class Schedule:
    """All calls of one method.

    Attributes:
        name: the method.
        calls: in order of execution.
        inputs: user inputs, in order.
        outputs: user outputs, in order: values or Python constants.
        in_spec: tree of `(args, kwargs)`.
        out_spec: tree of the result.
        loops: first and last instruction of each loop, and the values it carries.
    """

    name: str
    calls: list[Call] = field(default_factory=list)
    inputs: list[Value] = field(default_factory=list)
    outputs: list[Any] = field(default_factory=list)
    in_spec: TreeSpec | None = None
    out_spec: TreeSpec | None = None
    loops: list[tuple[int, int, list[Value]]] = field(default_factory=list)


def resolve_labels(schedule: Schedule) -> None:
    """Give every label its instruction and take the labels out of the list, in place."""
    calls: list[Call] = []
    for call in schedule.calls:
        if call.operator is Flow.LABEL:
            assert call.label is not None
            call.label.position = len(calls)
        else:
            calls.append(call)
    schedule.calls = calls
    schedule.loops = [
        (call.label.position, step, call.label.carried)
        for step, call in enumerate(calls)
        if call.label is not None and call.label.position <= step
    ]
