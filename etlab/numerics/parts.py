"""A program taken apart: what its steps read and write, and programs that compute parts of it.

Two kinds of programs are made of another one's bytes. A *tapped* one computes the same and returns
more: tensors between its instructions, and between the nodes of its delegates. *Excerpts* are
methods that compute one tensor from others: an instruction, or a node of a delegate. Both run on
any runtime, and whatever is wrong with the bytes is wrong in them, too.
"""

import dataclasses
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch

from etlab.errors import BackendMissingError, InvalidProgramError, NotFoundError
from etlab.exir.emit import schema
from etlab.exir.emit.dump import operator_name
from etlab.exir.emit.enums import DataLocation
from etlab.exir.emit.file import ProgramData, Segment, assemble
from etlab.exir.emit.scalar_type import DTYPES
from etlab.exir.partition.inside import Inside
from etlab.exir.partition.registry import backend_class
from etlab.numerics.places import Place
from etlab.numerics.plans import PlanWriter, flat_values, is_constant
from etlab.numerics.region_plans import Cut, RegionWriter
from etlab.numerics.regions import Region


@dataclass(frozen=True, slots=True)
class Step:
    """An instruction.

    Attributes:
        index: its place.
        name: operator, backend, or kind of instruction.
        reads: values that it reads, constants among them.
        writes: values that it writes.
        delegate: index of the delegate that it calls; None for other instructions.
    """

    index: int
    name: str
    reads: tuple[int, ...]
    writes: tuple[int, ...]
    delegate: int | None = None


class ProgramParts:
    """One method of a program file.

    Args:
        content: the file.
        method: the method's name.

    Raises:
        NotFoundError: the file has no such method.
    """

    def __init__(self, content: ProgramData, method: str = "forward") -> None:
        """Find the method."""
        plans = {plan.name: plan for plan in content.program.execution_plan or ()}
        if method not in plans:
            raise NotFoundError(f"the program has no method '{method}'; it has {list(plans)}")
        self._content = content
        self._plan = plans[method]
        self._insides: dict[int, Inside | None] = {}

    @cached_property
    def steps(self) -> tuple[Step, ...]:
        """The instructions in order."""
        chains = self._plan.chains or ()
        calls = [one.instr_args for chain in chains for one in chain.instructions or ()]
        written: set[int] = set()
        found = []
        for index, call in enumerate(calls):
            step = self._step(index, call, written)
            written |= set(step.writes)
            found.append(step)
        return tuple(found)

    @property
    def inputs(self) -> tuple[int, ...]:
        """The values that are inputs of the method."""
        return tuple(self._plan.inputs or ())

    @property
    def values(self) -> tuple[schema.EValue, ...]:
        """The method's values."""
        return self._plan.values or ()

    def arguments(self, step: int) -> tuple[int, ...]:
        """The values that an instruction is called with, lists opened."""
        chains = self._plan.chains or ()
        call: object = [o.instr_args for chain in chains for o in chain.instructions or ()][step]
        if not isinstance(call, schema.KernelCall | schema.DelegateCall):
            return ()
        return tuple(flat_values(self.values, call.args or ()))

    def tensor(self, value: int) -> schema.Tensor | None:
        """The tensor of a value; None for what is none."""
        held = self.values[value].val
        return held if isinstance(held, schema.Tensor) else None

    def inside(self, delegate: int) -> Inside | None:
        """The content of a delegate; None where its backend is unknown or does not tell."""
        if delegate not in self._insides:
            name = self._delegate(delegate).id or ""
            try:
                backend = backend_class(name)
            except BackendMissingError:
                self._insides[delegate] = None
            else:
                self._insides[delegate] = backend.look_inside(self.delegate_bytes(delegate))
        return self._insides[delegate]

    def inside_of(self, step: int) -> Inside | None:
        """The content of the delegate that a step calls; None for other steps."""
        delegate = self.steps[step].delegate
        return None if delegate is None else self.inside(delegate)

    def delegate_bytes(self, delegate: int) -> bytes:
        """What a delegate's backend stored.

        Raises:
            InvalidProgramError: it lies nowhere.
        """
        place = self._delegate(delegate).processed
        assert place is not None
        segments = self._content.segments
        if place.location is DataLocation.SEGMENT and place.index < len(segments):
            return bytes(segments[place.index])
        inline = self._content.program.backend_delegate_data or ()
        if place.location is DataLocation.INLINE and place.index < len(inline):
            return bytes(inline[place.index].data or b"")
        raise InvalidProgramError(f"delegate {delegate}: its bytes lie nowhere in the file")

    def tapped(self, places: Sequence[Place]) -> bytes:
        """The program with one method, whose outputs are followed by the tensors at `places`."""
        payloads: dict[int, bytes] = {}
        extra: dict[int, list[int]] = {}
        for place in places:
            if place.is_inside:
                extra.setdefault(place.step, []).append(place.value)
        writer = PlanWriter(self._plan)
        for step, numbers in extra.items():
            delegate = self.steps[step].delegate
            assert delegate is not None
            inside = self.inside(delegate)
            assert inside is not None
            payloads[delegate] = inside.tapped(numbers)
            for number in numbers:
                writer.add_delegate_output(step, number, inside.values[number])
        for place in places:
            writer.return_value(place.step, place.value, is_inside=place.is_inside)
        return self._file([writer.finish()], [payloads])

    def excerpts(self, wanted: Mapping[str, Region]) -> bytes:
        """A program whose methods are `wanted`; each takes the `places` of its region."""
        plans, payloads = [], []
        for name, region in wanted.items():
            writer = RegionWriter(self._plan, name)
            changed: dict[int, bytes] = {}
            writer.give([place.value for place in region.inputs])
            cuts = [self._cut(region, step, writer, changed) for step in region.delegates]
            by_step: dict[int, Cut] = dict(zip(region.delegates, cuts, strict=True))
            for step in sorted({*region.steps, *by_step}):
                if step in by_step:
                    writer.call_cut(by_step[step])
                else:
                    writer.call(step, self.steps[step].writes)
            plans.append(writer.finish(None if region.output.is_inside else region.output.value))
            payloads.append(changed)
        return self._file(plans, payloads)

    def _cut(
        self, region: Region, step: int, writer: RegionWriter, changed: dict[int, bytes]
    ) -> Cut:
        """A part of a delegate: its bytes go to `changed`, what it is given to the method."""
        delegate = self.steps[step].delegate
        inside = self.inside_of(step)
        assert delegate is not None
        assert inside is not None
        given = region.given.get(step, [])
        border, results = region.border.get(step, {}), region.results.get(step, {})
        is_last = region.output.is_inside and region.output.step == step
        outputs = [*results, *([region.output.value] if is_last else [])]
        index = writer.add_delegate(delegate)
        changed[index] = inside.excerpt([*given, *border], outputs)
        inputs = writer.give_inside([inside.values[number] for number in given])
        output = inside.values[region.output.value] if is_last else None
        return Cut(index, inputs, list(border.values()), list(results.values()), output)

    def writer_of(self, value: int, before: int) -> int | None:
        """The last step before `before` that writes a value."""
        for step in reversed(self.steps[:before]):
            if value in step.writes:
                return step.index
        return None

    def owner_of(self, value: int, before: int) -> int:
        """The value whose memory a value shows at step `before`: itself, unless it is a view."""
        if value in self.inputs or self.writer_of(value, before) is not None:
            return value
        tensor = self.tensor(value)
        place = None if tensor is None else tensor.allocation_info
        for step in reversed(self.steps[:before]):
            for other in step.writes:
                held = self.tensor(other)
                if held is not None and place is not None and held.allocation_info == place:
                    return other
        for other in self.inputs:
            held = self.tensor(other)
            if held is not None and place is not None and held.allocation_info == place:
                return other
        return value

    def dtype(self, value: int) -> torch.dtype | None:
        """The dtype of a value; None for what is no tensor."""
        tensor = self.tensor(value)
        return None if tensor is None else DTYPES[tensor.scalar_type]

    def is_constant(self, value: int) -> bool:
        """Whether a value is a constant of the file."""
        return is_constant(self.values[value].val)

    def _delegate(self, index: int) -> schema.BackendDelegate:
        delegates = self._plan.delegates or ()
        if not 0 <= index < len(delegates):
            raise InvalidProgramError(f"there is no delegate {index}; the program is damaged")
        return delegates[index]

    def _step(self, index: int, call: object, written: Collection[int]) -> Step:
        if isinstance(call, schema.KernelCall):
            arguments = [flat_values(self.values, [value]) for value in call.args or ()]
            writes = arguments[-1] if arguments else []
            count = len(writes)
            flat = [value for values in arguments[:-1] for value in values]
            reads = flat[: len(flat) - count]
            name = operator_name(self._plan, call.op_index)
            return Step(index, name, tuple(reads), tuple(writes))
        if isinstance(call, schema.DelegateCall):
            flat = flat_values(self.values, call.args or ())
            inside = self.inside(call.delegate_index)
            if inside is not None:
                writes = [flat[place] for place in inside.outputs.values() if place < len(flat)]
            else:  # what nobody wrote before; a view of something else would be taken for that
                known = {*written, *self.inputs}
                known |= {value for value in flat if self._is_given(value)}
                writes = [value for value in flat if value not in known]
            reads = [value for value in flat if value not in writes]
            name = self._delegate(call.delegate_index).id or ""
            return Step(index, name, tuple(reads), tuple(writes), call.delegate_index)
        if isinstance(call, schema.MoveCall):
            return Step(index, "move", (call.move_from,), (call.move_to,))
        if isinstance(call, schema.JumpFalseCall):
            return Step(index, "jump", (call.cond_value_index,), ())
        return Step(index, "free", (), ())

    def _is_given(self, value: int) -> bool:
        """Whether a value has content before the program runs."""
        held = self.values[value].val
        return not isinstance(held, schema.Tensor) or is_constant(held)

    def _file(
        self, plans: Sequence[schema.ExecutionPlan], payloads: Sequence[dict[int, bytes]]
    ) -> bytes:
        program = self._content.program
        inline = list(program.backend_delegate_data or ())
        placed = []
        for plan, changed in zip(plans, payloads, strict=True):
            delegates = list(plan.delegates or ())
            for delegate, payload in changed.items():
                reference = schema.BackendDelegateDataReference(DataLocation.INLINE, len(inline))
                delegates[delegate] = dataclasses.replace(delegates[delegate], processed=reference)
                inline.append(schema.BackendDelegateInlineData(payload))
            placed.append(dataclasses.replace(plan, delegates=tuple(delegates)))
        program = dataclasses.replace(
            program, execution_plan=tuple(placed), backend_delegate_data=tuple(inline)
        )
        segments = [Segment(len(piece), [(0, piece)]) for piece in self._content.segments]
        return assemble(program, segments)[0].to_bytes()
