"""When each value of a schedule is alive, and how often it is used."""

from collections import Counter

from etlab.exir.memory.interval import Interval
from etlab.exir.schedule import Role, Schedule, Value


def lifetimes_of(schedule: Schedule) -> dict[Value, Interval]:
    """The interval of every value that needs planned memory, in order of first use.

    A view counts for the value whose memory it shares. Inputs live from step 0, outputs to the last
    step, state all the time. One walk over the calls. Bytes are not aligned.
    """
    end = max(len(schedule.calls) - 1, 0)
    first: dict[Value, int] = {}
    last: dict[Value, int] = {}

    def touch(value: Value, step: int) -> None:
        root = value.root
        if root.spec is not None and root.is_planned and root.role is not Role.CONSTANT:
            first.setdefault(root, 0 if root.role is not Role.RESULT else step)
            last[root] = end if root.role is Role.STATE else max(step, last.get(root, 0))

    for value in schedule.inputs:
        touch(value, 0)
    for step, call in enumerate(schedule.calls):
        for value in call.values():
            touch(value, step)
    for begin, last_step, carried in schedule.loops:
        for value in carried:
            touch(value, last_step)
            if value.root in first:
                first[value.root] = min(first[value.root], begin)
        for root, start in first.items():
            if start < begin <= last[root]:  # it is needed again in the next turn
                last[root] = max(last[root], last_step)
    for output in schedule.outputs:
        if isinstance(output, Value):
            touch(output, end)
    result: dict[Value, Interval] = {}
    for value, begin in first.items():
        assert value.spec is not None
        result[value] = Interval(value.spec.nbytes, begin, last[value])
    return result


def uses_of(schedule: Schedule) -> Counter[Value]:
    """How many times a run reads or writes each value with memory of its own.

    The caller's writing of inputs and reading of outputs count; turns of a loop count once.
    """
    uses: Counter[Value] = Counter()
    for value in schedule.inputs:
        uses[value.root] += 1
    for call in schedule.calls:
        uses.update({value.root for value in call.values()})
    for output in schedule.outputs:
        if isinstance(output, Value):
            uses[output.root] += 1
    return uses
