"""A device's memory while it runs a delegate, as its compiler placed it, as a memory plan."""

from collections.abc import Sequence
from dataclasses import replace

import torch

from etlab.exir.memory.memories import Memory
from etlab.exir.memory.plan import MemoryPlan, PlannedTensor
from etlab.exir.partition.estimate import EstimatedTensor
from etlab.inspect.estimates import EstimatedPart


def device_plan(part: EstimatedPart) -> MemoryPlan:
    """The plan of the values that the compiler tells of; weights are not among them.

    Args:
        part: with an estimate that has tensors.
    """
    estimate = part.estimate
    names = list(dict.fromkeys(one.memory for one in estimate.tensors))
    sizes = {
        number: max(one.offset + one.nbytes for one in estimate.tensors if one.memory == name)
        for number, name in enumerate(names, start=1)
    }
    last = max((one.last for one in estimate.tensors), default=0)
    steps = {one.step: one.kind for one in estimate.operators}
    makers = {one.name: one.kind for one in estimate.operators}
    tensors = tuple(
        PlannedTensor(
            id=number,
            name=one.name,
            operator=makers.get(one.name, one.usage),
            module="",
            source="",
            nbytes=one.nbytes,
            dtype=torch.uint8,
            shape=(one.nbytes,),
            memory_id=names.index(one.memory) + 1,
            offset=one.offset,
            first_use=one.first,
            last_use=one.last,
        )
        for number, one in enumerate(_places(estimate.tensors))
    )
    return MemoryPlan(
        method=part.part,
        tensors=tensors,
        arena_sizes=sizes,
        alignment=1,
        steps=tuple(steps.get(step, "") for step in range(last + 1)),
        planner=estimate.source,
        memories=tuple(Memory(f"{estimate.device} {name}") for name in names),
    )


def _places(tensors: Sequence[EstimatedTensor]) -> list[EstimatedTensor]:
    """The tensors, one for all names that a place has: a result that is written over its input."""
    found: dict[tuple[str, int, int, int, int], EstimatedTensor] = {}
    for one in tensors:
        place = (one.memory, one.offset, one.nbytes, one.first, one.last)
        known = found.get(place)
        found[place] = one if known is None else replace(known, name=f"{known.name}, {one.name}")
    return list(found.values())
