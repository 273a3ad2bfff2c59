"""What a step of a program must be given to run alone: the nearest tensors that the graph knows."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch

from etlab.errors import EtlabError
from etlab.numerics.alignment import Alignment
from etlab.numerics.parts import ProgramParts
from etlab.numerics.places import Place
from etlab.numerics.regions import Region


@dataclass(frozen=True, slots=True)
class Feed:
    """One input of an excerpt.

    Attributes:
        node: the lowered node whose value it is.
        order: its dimensions as they lie in a delegate's memory; None for as they are.
        sizes: what it is reshaped to; None for as it is.
        dtype: what the program has there.
    """

    node: str
    order: tuple[int, ...] | None
    sizes: tuple[int, ...] | None
    dtype: torch.dtype | None

    def of(self, values: Mapping[str, Any]) -> Any:
        """The input among the reference's values.

        Raises:
            EtlabError: the reference has another kind of value there.
        """
        value = values.get(self.node)
        if not isinstance(value, torch.Tensor):
            raise EtlabError(f"the reference has no tensor '{self.node}'")
        if self.dtype is not None and value.dtype != self.dtype:
            raise EtlabError(f"the reference's '{self.node}' is {value.dtype}, not {self.dtype}")
        if self.sizes is not None:
            value = value.reshape(self.sizes)
        return value if self.order is None else value.permute(self.order).contiguous()


def needs_of(alignment: Alignment, output: Place) -> tuple[Region, dict[Place, Feed]]:
    """The steps that compute `output` from the nearest tensors that the graph knows, too.

    Returns:
        The region, and what is fed at its inputs.

    Raises:
        EtlabError: there are no such tensors on some way.
    """
    search = _Search(alignment, output)
    search.run()
    return search.region, search.feeds


class _Search:
    """Goes backwards through instructions, and through the nodes of delegates."""

    def __init__(self, alignment: Alignment, output: Place) -> None:
        self._alignment = alignment
        self._parts: ProgramParts = alignment.parts
        self._waiting: list[Place] = []  # what is needed; values of the program as before a step
        self._seen: set[Place] = set()
        self._output = output
        self.region = Region(output)
        self.feeds: dict[Place, Feed] = {}

    def run(self) -> None:
        """Until everything is an input or a constant."""
        if self._output.is_inside:
            self._compute_inside(self._output)
        else:
            self._compute_step(self._output.step)
        while self._waiting:
            place = self._waiting.pop()
            if place in self._seen:
                continue
            self._seen.add(place)
            if place.is_inside:
                self._need_inside(place)
            else:
                self._need_outside(place.value, place.step)

    def _compute_step(self, step: int) -> None:
        """An instruction that runs as it is."""
        self.region.steps.add(step)
        reads = self._parts.steps[step].reads
        self._waiting += [Place(step, value) for value in reads]

    def _compute_inside(self, place: Place) -> None:
        """A node of a delegate."""
        inside = self._parts.inside_of(place.step)
        assert inside is not None
        maker = next(node for node in inside.nodes if place.value in node.outputs)
        self._waiting += [Place(place.step, number, is_inside=True) for number in maker.inputs]

    def _need_inside(self, place: Place) -> None:
        """A value between the nodes of a delegate."""
        inside = self._parts.inside_of(place.step)
        assert inside is not None
        key = self._alignment.numbers.get(place)
        dtype = inside.values[place.value].dtype
        if key is not None and place != self._output:
            self.feeds[place] = Feed(key, self._alignment.orders[place], None, dtype)
            self.region.given.setdefault(place.step, []).append(place.value)
        elif place.value not in inside.inputs:
            self._compute_inside(place)
        else:
            value = self._parts.arguments(place.step)[inside.inputs[place.value]]
            feed = self._feed_of(value, place.step, dtype)
            if feed is not None:
                self.feeds[place] = feed
                self.region.given.setdefault(place.step, []).append(place.value)
            else:
                self.region.border.setdefault(place.step, {})[place.value] = value
                self._waiting.append(Place(place.step, value))

    def _feed_of(self, value: int, step: int, dtype: torch.dtype | None) -> Feed | None:
        """The feed of a delegate's input, as it lies in memory; None when the graph lacks it."""
        tensor = self._parts.tensor(value)
        owner = self._parts.owner_of(value, step)
        key = self._key_of(owner, step)
        if tensor is None or key is None:
            return None
        sizes = tuple(tensor.sizes or ()) if owner != value else None
        return Feed(key, tuple(tensor.dim_order or ()), sizes, dtype)

    def _key_of(self, value: int, before: int) -> str | None:
        """The graph's node whose value a value of the program is at a step."""
        writer = self._parts.writer_of(value, before)
        if writer is not None:
            return self._alignment.numbers.get(Place(writer, value))
        inputs = dict(zip(self._parts.inputs, self._alignment.inputs, strict=False))
        return inputs.get(value)

    def _need_outside(self, value: int, before: int) -> None:
        """A value of the program, as it is before a step."""
        if self._parts.is_constant(value):
            return
        tensor = self._parts.tensor(value)
        owner = value if tensor is None else self._parts.owner_of(value, before)
        writer = self._parts.writer_of(owner, before)
        key = None if tensor is None else self._key_of(owner, before)
        if key is not None:
            assert tensor is not None
            sizes = tuple(tensor.sizes or ()) if owner != value else None
            self.feeds[Place(before, value)] = Feed(key, None, sizes, self._parts.dtype(value))
            self.region.inputs.append(Place(before, value))
        elif writer is not None and owner == value:
            self._need_written(value, writer)
        elif tensor is not None:
            raise EtlabError("it reads state, or a view of what has no counterpart in the graph")

    def _need_written(self, value: int, writer: int) -> None:
        """A value that an instruction writes."""
        if writer in self._alignment.branching:
            raise EtlabError("it reads the result of control flow, which has no step of its own")
        inside = self._parts.inside_of(writer)
        if inside is None:
            self._compute_step(writer)
            return
        arguments = self._parts.arguments(writer)
        number = next(n for n, place in inside.outputs.items() if arguments[place] == value)
        self.region.results.setdefault(writer, {})[number] = value
        self._waiting.append(Place(writer, number, is_inside=True))
