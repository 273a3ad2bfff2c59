"""Which values of a stored program are read before they are written, or overwritten too early.

Both are faults that a program file can hold without being damaged: state whose first value was left
out, and control flow whose results share memory while they are needed. A `move` copies no elements:
afterwards two values name the same memory.
"""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.enums import TensorDataLocation
from etlab.exir.emit.scalar_type import ITEM_SIZES

_MOST_WORK = 20_000_000  # instructions times values; larger programs are not looked through

# Their output becomes another name for the memory of their first argument.
_VIEWS = frozenset({"executorch_prim::et_view.default"})

Region = tuple[int, int, int]  # arena, first byte, end


@dataclass(frozen=True, slots=True)
class Clobber:
    """An instruction that overwrites what is still needed.

    Attributes:
        step: place of the instruction.
        name: its operator or backend.
        written: the value it writes.
        lost: the value that is needed afterwards and lies in the same memory.
    """

    step: int
    name: str
    written: int
    lost: int


@dataclass(slots=True)
class _Step:
    name: str
    reads: set[int] = field(default_factory=set)
    writes: set[int] = field(default_factory=set)
    kept: bool = False  # a write in place: what was there before still counts
    move: tuple[int, int] | None = None
    successors: tuple[int, ...] = ()


def unwritten_values(plan: schema.ExecutionPlan) -> list[int]:
    """Tensors of an arena that are read although nothing has written them, in order.

    They are state whose first value the file lacks: it begins as the arena does, with zeros.
    """
    flow = _Flow(plan)
    return sorted(flow.unwritten)


def clobbered_values(plan: schema.ExecutionPlan) -> list[Clobber]:
    """What is overwritten too early, in order of the instructions."""
    flow = _Flow(plan)
    if len(flow.steps) * len(flow.values) > _MOST_WORK:
        return []
    return flow.clobbers()


class _Flow:
    def __init__(self, plan: schema.ExecutionPlan) -> None:
        self._plan = plan
        self.values = [entry.val for entry in plan.values or ()]
        instructions = [i for chain in plan.chains or () for i in chain.instructions or ()]
        self._seen: set[int] = set(plan.inputs or ())
        self._seen |= {i for i in range(len(self.values)) if self._has_first_value(i)}
        self.steps = [self._step(i, place) for place, i in enumerate(instructions)]
        self.unwritten: set[int] = set()
        self._alias: dict[int, int] = {}
        self._find_aliases()

    def clobbers(self) -> list[Clobber]:
        """Writes into memory of values that are read later."""
        regions = self._points_to()
        live = self._live_after()
        found: dict[tuple[int, int], Clobber] = {}
        for place, step in enumerate(self.steps):
            if step.move is not None:
                continue
            for written in map(self._root, step.writes):
                for lost in sorted(live[place] - {written}):
                    if self._root(lost) == written or lost in step.writes:
                        continue
                    if _overlap(regions[written], regions[lost]):
                        clobber = Clobber(place, step.name, written, lost)
                        found.setdefault((written, lost), clobber)
        return list(found.values())

    def _points_to(self) -> dict[int, set[Region]]:
        """The memory that a value may name; of one that is only moved into, that of its sources."""
        moved: defaultdict[int, set[int]] = defaultdict(set)
        computed: set[int] = set(self._plan.inputs or ())
        for step in self.steps:
            if step.move is not None:
                moved[step.move[1]].add(self._root(step.move[0]))
            else:
                computed |= step.writes
        regions: defaultdict[int, set[Region]] = defaultdict(set)
        for index in range(len(self.values)):
            region = self._region(index)
            if region is not None and (index not in moved or index in computed):
                regions[index] = {region}
        changed = True
        while changed:
            changed = False
            for target, sources in moved.items():
                known = len(regions[target])
                regions[target] = regions[target].union(*(regions[source] for source in sources))
                changed = changed or len(regions[target]) != known
        return regions

    def _live_after(self) -> list[set[int]]:
        """The values that are read after each step before they are written again."""
        outputs = {self._root(index) for index in self._flat(self._plan.outputs or ())}
        before: list[set[int]] = [set() for _ in self.steps] + [outputs]
        after: list[set[int]] = [set() for _ in self.steps]
        changed = True
        while changed:
            changed = False
            for place in range(len(self.steps) - 1, -1, -1):
                step = self.steps[place]
                after[place] = set().union(*(before[next_] for next_ in step.successors))
                left = after[place] if step.kept else after[place] - step.writes
                live = left | {self._root(index) for index in step.reads}
                changed = changed or live != before[place]
                before[place] = live
        return after

    def _find_aliases(self) -> None:
        """Values that nothing writes: views of what lies at their place, or never written."""
        ever = set(self._plan.inputs or ()).union(*(step.writes for step in self.steps))
        latest: dict[tuple[int, int], int] = {}
        so_far: set[int] = set()

        def write(index: int) -> None:
            so_far.add(index)
            region = self._region(index)
            if region is not None:
                latest[region[:2]] = index

        for index in range(len(self.values)):
            if index in (self._plan.inputs or ()) or self._has_first_value(index):
                write(index)
        for step in self.steps:
            for index in sorted(step.reads - so_far):
                region = self._region(index)
                owner = latest.get(region[:2]) if region is not None else None
                if region is not None and owner is None:
                    self.unwritten.add(index)
                elif owner is not None and index not in ever:
                    self._alias[index] = owner
                so_far.add(index)
            for index in step.writes:
                write(index)

    def _root(self, index: int) -> int:
        while index in self._alias:
            index = self._alias[index]
        return index

    def _region(self, index: int) -> Region | None:
        tensor = self.values[index] if 0 <= index < len(self.values) else None
        if not isinstance(tensor, schema.Tensor) or tensor.allocation_info is None:
            return None
        nbytes = ITEM_SIZES[tensor.scalar_type]
        for size in tensor.sizes or ():
            nbytes *= size
        place = tensor.allocation_info
        start = place.memory_offset
        return (place.memory_id, start, start + nbytes)

    def _has_first_value(self, index: int) -> bool:
        tensor = self.values[index]
        if not isinstance(tensor, schema.Tensor):
            return False
        extra = tensor.extra_tensor_info
        is_external = extra is not None and extra.location is TensorDataLocation.EXTERNAL
        return is_external or tensor.data_buffer_idx > 0

    def _flat(self, indices: Iterable[int]) -> list[int]:
        """Value indices with lists of tensors opened."""
        result: list[int] = []
        for index in indices:
            value = self.values[index] if 0 <= index < len(self.values) else None
            if isinstance(value, schema.TensorList | schema.OptionalTensorList):
                result += [item for item in value.items or () if item >= 0]
            else:
                result.append(index)
        return result

    def _step(self, instruction: schema.Instruction, place: int) -> _Step:
        call = instruction.instr_args
        count = sum(len(chain.instructions or ()) for chain in self._plan.chains or ())
        following = (min(place + 1, count),)
        if isinstance(call, schema.KernelCall):
            step = _Step(operator_name(self._plan, call.op_index), successors=following)
            arguments, step.writes = list(call.args or ()), set(self._flat((call.args or ())[-1:]))
            outputs = len(self._flat(arguments[-1:]))
            step.reads = set(self._flat(arguments[: -1 - outputs]))
            step.kept = bool(step.reads & step.writes)
            if step.name in _VIEWS and len(arguments) > 1:
                step.move = (arguments[0], arguments[-1])
        elif isinstance(call, schema.DelegateCall):
            step = _Step("a delegate", successors=following)
            arguments = self._flat(call.args or ())
            step.reads = {index for index in arguments if index in self._seen}
            step.writes = set(arguments) - step.reads
        elif isinstance(call, schema.MoveCall):
            step = _Step("move", {call.move_from}, {call.move_to}, successors=following)
            step.move = (call.move_from, call.move_to)
        elif isinstance(call, schema.JumpFalseCall):
            target = min(max(call.destination_instruction, 0), count)
            step = _Step("jump", {call.cond_value_index}, successors=(*following, target))
        else:
            step = _Step("free", successors=following)
        self._seen |= step.reads | step.writes
        return step


def _overlap(first: set[Region], second: set[Region]) -> bool:
    return any(a[0] == b[0] and a[1] < b[2] and b[1] < a[2] for a in first for b in second)
