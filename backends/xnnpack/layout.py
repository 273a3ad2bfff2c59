"""Which steps run channels-last: the choice with the fewest transposed bytes.

Most steps ask for one order. Those that run in either are chosen together: every tensor that is
needed in another order than it is made in costs its size once, however many use it, and the
cheapest choice is a minimum cut between the two orders.
"""

import math
from collections.abc import Iterable, Iterator
from itertools import count
from typing import Any

from etlab.backends.xnnpack.steps import Layout, Step, Steps, Tensor, channels_last, plain

_PLAIN, _LAST = Layout.PLAIN, Layout.CHANNELS_LAST
_COST_OF_A_NODE = 256  # in elements


def choose_layouts(steps: Steps) -> None:
    """Set `chosen` of every step."""
    graph = _Graph(steps)
    for free in graph.components():
        wishes = graph.neighbours(free)
        if len(wishes) == 1:
            for step in free:
                step.chosen = next(iter(wishes))
        elif wishes:
            _cut(graph, free)


class _Graph:
    """Who makes a tensor, who uses it, and what is decided already."""

    def __init__(self, steps: Steps) -> None:
        self.makers: dict[Tensor, Step | Layout] = {}
        self.users: dict[Tensor, list[Step | Layout]] = {}
        self.free: list[Step] = []
        for tensor in steps.inputs:
            self.makers[tensor] = _layout_of(tensor, tensor.fixed)
        for step in steps.steps:
            step.chosen = step.layout if step.layout in (_PLAIN, _LAST) else _PLAIN
            is_open = step.layout not in (_PLAIN, _LAST) and _has_two_orders(step)
            if is_open:
                self.free.append(step)
            who = step if is_open else step.chosen
            for tensor in step.outputs.values():
                self.makers[tensor] = who
            if step.layout is not Layout.FREE and not step.by_elements:
                for tensor in step.moving_inputs:
                    if tensor.constant is None:
                        self.users.setdefault(tensor, []).append(who)
        for tensor, order in steps.outputs:
            self.users.setdefault(tensor, []).append(_layout_of(tensor, order))
        self._touching: dict[Step, list[Tensor]] = {step: [] for step in self.free}
        for tensor, maker in self.makers.items():
            for who in {maker, *self.users.get(tensor, ())}:
                if isinstance(who, Step) and tensor.rank in (3, 4):
                    self._touching[who].append(tensor)

    def touching(self, step: Step) -> list[Tensor]:
        """Tensors that an open step makes, or uses in its order."""
        return self._touching[step]

    def components(self) -> Iterator[list[Step]]:
        """Open steps that hang together."""
        seen_steps: set[Step] = set()
        seen_tensors: set[Tensor] = set()
        for start in self.free:
            if start in seen_steps:
                continue
            seen_steps.add(start)
            found, stack = [], [start]
            while stack:
                step = stack.pop()
                found.append(step)
                tensors = [t for t in self.touching(step) if t not in seen_tensors]
                seen_tensors.update(tensors)
                for other in self._around(tensors):
                    if isinstance(other, Step) and other not in seen_steps:
                        seen_steps.add(other)
                        stack.append(other)
            yield found

    def _around(self, tensors: Iterable[Tensor]) -> Iterator[Step | Layout]:
        for tensor in tensors:
            yield self.makers[tensor]
            yield from self.users.get(tensor, ())

    def tensors_of(self, steps: Iterable[Step]) -> list[Tensor]:
        """What open steps make and use, each once."""
        return list(dict.fromkeys(t for step in steps for t in self.touching(step)))

    def neighbours(self, steps: Iterable[Step]) -> set[Layout]:
        """The decided orders around open steps."""
        return {o for o in self._around(self.tensors_of(steps)) if isinstance(o, Layout)}


def _has_two_orders(step: Step) -> bool:
    tensors = [*step.outputs.values()]
    return any(channels_last(tensor.rank) != plain(tensor.rank) for tensor in tensors)


def _layout_of(tensor: Tensor, order: Any) -> Layout:
    return _LAST if order == channels_last(tensor.rank) != plain(tensor.rank) else _PLAIN


def _weight(tensor: Tensor) -> int:
    sizes = [size if isinstance(size, int) else size.node.hint or 1 for size in tensor.sizes]
    return math.prod(sizes) + _COST_OF_A_NODE


def _cut(graph: _Graph, steps: list[Step]) -> None:
    """Choose for steps between two wishes.

    Of a tensor made by p and used by c, d: a node that all users hang on stands for its transposed
    copy in either direction, so that the copy is paid once.
    """
    import networkx  # type: ignore[import-untyped]  # torch brings it along, without types

    network: Any = networkx.DiGraph()
    network.add_nodes_from((_PLAIN, _LAST))
    copies = count()
    for tensor in graph.tensors_of(steps):
        maker, users = graph.makers[tensor], graph.users.get(tensor, [])
        if not users:
            continue
        weight = _weight(tensor)
        to_last, to_plain = next(copies), next(copies)
        network.add_edge(maker, to_last, capacity=weight)
        network.add_edge(to_plain, maker, capacity=weight)
        for user in users:
            network.add_edge(to_last, user)
            network.add_edge(user, to_plain)
    _, (plain_side, _) = networkx.minimum_cut(network, _PLAIN, _LAST)
    for step in steps:
        step.chosen = _PLAIN if step in plain_side else _LAST
