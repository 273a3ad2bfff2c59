"""Groups of supported nodes that can each become one call: connected, and without cycles."""

from collections.abc import Callable, Iterable, Iterator

from torch import fx

from etlab.exir.graph import is_getitem


def group_supported(
    nodes: Iterable[fx.Node], is_supported: Callable[[fx.Node], bool]
) -> list[list[fx.Node]]:
    """Put supported nodes into groups that are as large as possible.

    A node joins the group of one of its inputs unless that group would then wait for itself: some
    other input is computed, outside the group, from the group's own results. What waits for what is
    kept as bit sets over groups, so a node costs a few operations on integers.

    Args:
        nodes: in topological order.
        is_supported: asked once for every call; a `getitem` goes where its source goes.

    Returns:
        The groups, each in topological order.
    """
    ordered = list(nodes)
    grouping = _Grouping()
    for node in ordered:
        if node.op != "call_function":
            continue
        if is_getitem(node):
            grouping.follow(node)
        elif is_supported(node):
            grouping.join(node)
        else:
            grouping.stay_out(node)
    return grouping.groups(ordered)


class _Grouping:
    """Groups while they grow.

    Groups are numbers; a merged group keeps one of them and answers to the bits of all. What a
    group waits for is closed: it holds what those groups wait for, too.
    """

    def __init__(self) -> None:
        self._merged_into: list[int] = []
        self._bits: list[int] = []
        self._waits: list[int] = []
        self._group: dict[fx.Node, int] = {}
        # What an ungrouped node is computed from, closed as of a version: the number of times that
        # a group somebody had looked at came to wait for more.
        self._outside: dict[fx.Node, tuple[int, int]] = {}
        self._observed = 0
        self._version = 0

    def groups(self, ordered: Iterable[fx.Node]) -> list[list[fx.Node]]:
        """The members of every group, groups by their first member."""
        members: dict[int, list[fx.Node]] = {}
        for node in ordered:
            if node in self._group:
                members.setdefault(self._find(self._group[node]), []).append(node)
        return list(members.values())

    def stay_out(self, node: fx.Node) -> None:
        """Leave a node ungrouped."""
        needed = 0
        for source in node.all_input_nodes:
            if source in self._group:
                group = self._find(self._group[source])
                needed |= self._bits[group] | self._waits[group]
            else:
                needed |= self._outside_needs(source)
        self._observed |= needed
        self._outside[node] = (needed, self._version)

    def follow(self, node: fx.Node) -> None:
        """Put a getitem where its source is."""
        source = node.all_input_nodes[0]
        if source in self._group:
            self._group[node] = self._group[source]
        else:
            self.stay_out(node)

    def join(self, node: fx.Node) -> None:
        """Put a node into the group of an input, merging those groups that it connects."""
        sources = node.all_input_nodes
        touched = sorted({self._find(self._group[s]) for s in sources if s in self._group})
        outside = 0
        for source in sources:
            if source not in self._group:
                outside |= self._outside_needs(source)
        open_to_it = [
            group
            for group in touched
            if not outside & self._bits[group]
            and not any(self._waits_for(o, group) for o in touched if o != group)
        ]
        needed = outside
        for group in touched:
            needed |= self._bits[group] | self._waits[group]
        joined = open_to_it[-1] if open_to_it else self._new_group()
        for group in open_to_it[:-1]:
            self._merge(joined, group)
        self._group[node] = joined
        self._now_waits(joined, needed)

    def _new_group(self) -> int:
        number = len(self._bits)
        self._merged_into.append(number)
        self._bits.append(1 << number)
        self._waits.append(0)
        return number

    def _find(self, group: int) -> int:
        while self._merged_into[group] != group:
            self._merged_into[group] = self._merged_into[self._merged_into[group]]
            group = self._merged_into[group]
        return group

    def _merge(self, kept: int, other: int) -> None:
        self._merged_into[other] = kept
        self._bits[kept] |= self._bits[other]
        waits = self._waits[other]
        self._waits[other] = 0
        self._now_waits(kept, waits)

    def _waits_for(self, group: int, other: int) -> bool:
        return bool(self._waits[group] & self._bits[other])

    def _outside_needs(self, node: fx.Node) -> int:
        needed, version = self._outside.get(node, (0, self._version))
        if version != self._version:
            needed = self._closure(needed)
            self._outside[node] = (needed, self._version)
        return needed

    def _closure(self, groups: int) -> int:
        result = groups
        for number in _set_bits(groups):
            group = self._find(number)
            result |= self._bits[group] | self._waits[group]
        return result

    def _now_waits(self, group: int, needed: int) -> None:
        needed &= ~self._bits[group]
        if not needed & ~self._waits[group]:
            return
        self._waits[group] |= needed
        self._observed |= needed
        if not self._observed & self._bits[group]:
            return
        self._version += 1
        for index, waits in enumerate(self._waits):
            if waits & self._bits[group]:
                self._waits[index] |= needed


def _set_bits(value: int) -> Iterator[int]:
    while value:
        lowest = value & -value
        yield lowest.bit_length() - 1
        value ^= lowest
