"""The memory plan that a program file holds, whoever wrote it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import torch

from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.scalar_type import DTYPES, ITEM_SIZES
from etlab.exir.emit.tensor_lists import open_lists
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.exir.memory.shared_state import DELEGATE_PADDING

_ALIGNMENT = 16


@dataclass(slots=True)
class _Tenant:
    """A tensor of an arena while its uses are collected."""

    index: int
    tensor: schema.Tensor
    place: tuple[int, int]
    nbytes: int
    operator: str
    source: str
    first: int
    last: int
    users: set[int] = field(default_factory=set)  # steps; before and behind them, the caller


def plan_of_program(plan: schema.ExecutionPlan) -> MemoryPlan:
    """What lies where and when in the arenas of a method, read from its instructions.

    A value that is read at a place before anything wrote it is a view: it counts as the tensor that
    lies there.
    """
    return _Reader(plan).read()


class _Reader:
    def __init__(self, plan: schema.ExecutionPlan) -> None:
        self._plan = plan
        self._values = [entry.val for entry in plan.values or ()]
        self._tenants: list[_Tenant] = []
        self._at: dict[tuple[int, int], _Tenant] = {}  # the latest tenant of a place
        self._known: dict[int, _Tenant] = {}
        self._end = 0

    def read(self) -> MemoryPlan:
        chains = self._plan.chains or ()
        instructions = [i for chain in chains for i in chain.instructions or ()]
        frames = [f for chain in chains for f in chain.stacktrace or ()]
        self._end = max(len(instructions) - 1, 0)
        for index, value in enumerate(self._values):
            if isinstance(value, schema.Tensor) and value.allocation_info and value.data_buffer_idx:
                self._touch(index, 0, "state", "", is_use=False)
                self._touch(index, self._end, "", "", is_use=False)
        for index in self._plan.inputs or ():
            self._touch(index, 0, "input", "")
        steps: list[str] = []
        for step, instruction in enumerate(instructions):
            source = _source(frames[step]) if step < len(frames) else ""
            steps.append(self._step(instruction, step, source))
        for index in self._plan.outputs or ():
            self._touch(index, self._end, "output", "")
        sizes = dict(enumerate(self._plan.non_const_buffer_sizes or ()))
        sizes.pop(0, None)
        tensors = tuple(self._planned(place, tenant) for place, tenant in enumerate(self._tenants))
        return MemoryPlan(
            method=self._plan.name or "",
            tensors=tensors,
            arena_sizes=sizes,
            alignment=_ALIGNMENT,
            steps=tuple(steps),
            planner="as stored",
            padding=self._padding(tensors, sizes),
        )

    def _padding(self, tensors: Sequence[PlannedTensor], sizes: Mapping[int, int]) -> int:
        """What exporters leave for delegates at the end of each arena, if they did."""
        if not self._plan.delegates:
            return 0
        reach: dict[int, int] = {}
        for tensor in tensors:
            end = tensor.offset + tensor.nbytes
            reach[tensor.memory_id] = max(reach.get(tensor.memory_id, 0), end)
        left = [sizes.get(arena, 0) - end for arena, end in reach.items()]
        return DELEGATE_PADDING if left and min(left) >= DELEGATE_PADDING else 0

    def _step(self, instruction: schema.Instruction, step: int, source: str) -> str:
        call = instruction.instr_args
        if isinstance(call, schema.KernelCall):
            name = operator_name(self._plan, call.op_index)
            arguments = open_lists(call.args or (), self._values)
            written = open_lists((call.args or ())[-1:], self._values)
            read = [index for index in arguments if index not in written]
            for index in read:
                self._touch(index, step, "", source)
            for index in written:
                self._take_over(index, read)
                self._touch(index, step, name, source)
            return name
        if isinstance(call, schema.DelegateCall):
            delegates = self._plan.delegates or ()
            known = 0 <= call.delegate_index < len(delegates)
            name = f"delegate {delegates[call.delegate_index].id}" if known else "delegate"
            for index in open_lists(call.args or (), self._values):
                self._touch(index, step, name if index not in self._known else "", source)
            return name
        if isinstance(call, schema.MoveCall):
            self._touch(call.move_from, step, "", source)
            self._touch(call.move_to, step, "move", source)
            return "move"
        return "jump" if isinstance(call, schema.JumpFalseCall) else "free"

    def _take_over(self, index: int, read: list[int]) -> None:
        """Let a result that lies where an argument lies be another name of the argument."""
        for other in read:
            tenant = self._known.get(other)
            if index not in self._known and tenant is not None:
                result = self._values[index]
                place = result.allocation_info if isinstance(result, schema.Tensor) else None
                if place and tenant.place == (place.memory_id, place.memory_offset):
                    self._known[index] = tenant

    def _touch(
        self, index: int, step: int, writer: str, source: str, *, is_use: bool = True
    ) -> None:
        """Note a use of a value; `writer` is empty when it is only read."""
        tensor = self._values[index] if 0 <= index < len(self._values) else None
        if not isinstance(tensor, schema.Tensor) or tensor.allocation_info is None:
            return
        tenant = self._known.get(index)
        place = (tensor.allocation_info.memory_id, tensor.allocation_info.memory_offset)
        if tenant is None and writer in ("", "output"):
            tenant = self._at.get(place)
        if tenant is None:
            nbytes = ITEM_SIZES[tensor.scalar_type]
            for size in tensor.sizes or ():
                nbytes *= size
            aligned = -(-nbytes // _ALIGNMENT) * _ALIGNMENT
            tenant = _Tenant(index, tensor, place, aligned, writer, source, step, step)
            self._tenants.append(tenant)
        self._known[index] = tenant
        self._at[place] = tenant
        tenant.last = max(tenant.last, step)
        if is_use:
            tenant.users.add({"input": -1, "output": self._end + 1}.get(writer, step))

    def _planned(self, number: int, tenant: _Tenant) -> PlannedTensor:
        extra = tenant.tensor.extra_tensor_info
        return PlannedTensor(
            id=number,
            name=(extra.fully_qualified_name if extra else None) or f"%{tenant.index}",
            operator=tenant.operator,
            module="",
            source=tenant.source,
            nbytes=tenant.nbytes,
            dtype=DTYPES.get(tenant.tensor.scalar_type, torch.uint8),
            shape=tenant.tensor.sizes or (),
            memory_id=tenant.place[0],
            offset=tenant.place[1],
            first_use=tenant.first,
            last_use=tenant.last,
            uses=len(tenant.users),
        )


def _source(frames: schema.FrameList) -> str:
    if not frames.items:
        return ""
    return f"{frames.items[-1].filename}:{frames.items[-1].lineno}"
