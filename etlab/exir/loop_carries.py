"""What a loop carries from step to step, written with as few copies as is safe.

new = add(old, x); <no use of old>; old <- new        add writes old itself
old <- new                                            one copy
a <- view(b); b <- new                                two: the view would see the new b
"""

from collections.abc import Callable, Sequence
from typing import Any

from etlab.exir.schedule import Call, Flow, Role, Value
from etlab.exir.views import keeps_bytes


class Carries:
    """The values that a body computed, on their way into those that the loop carries.

    Args:
        calls: of the body, in order; they are edited.
        sources: what the body computed: values or numbers.
        targets: what is carried, as many.
        readers: what the body's last calls read besides, as outputs of the loop.
    """

    def __init__(
        self, calls: Sequence[Call], sources: Sequence[Any], targets: Sequence[Value]
    ) -> None:
        self._calls = calls
        self._sources = list(sources)
        self._targets = list(targets)
        self._makers: dict[Value, list[int]] = {}
        for position, call in enumerate(calls):
            for output in call.outputs:
                self._makers.setdefault(output, []).append(position)

    def settle(self, copy: Callable[[Any], Any]) -> list[tuple[Any, Value]]:
        """Which values are still to be assigned to which targets, in any order.

        Args:
            copy: makes a copy of a value before anything is assigned.
        """
        pending = []
        for source, target in zip(self._sources, self._targets, strict=True):
            if source is target or self._write_in_place(source, target):
                continue
            pending.append((source, target))
        return [
            (copy(source) if self._root(source) in self._targets else source, target)
            for source, target in pending
        ]

    def _write_in_place(self, source: Any, target: Value) -> bool:
        """Let the call that makes `source` write `target`, where nobody needs the old one then."""
        if not isinstance(source, Value) or source.role is not Role.RESULT:
            return False
        makers = self._makers.get(source, [])
        if len(makers) != 1 or source.spec != target.spec or self._sources.count(source) > 1:
            return False
        maker = self._calls[makers[0]]
        # A runtime takes what a delegate gets after it was written for an input.
        if maker.delegate is not None:
            return False
        rest = self._calls[makers[0] :]
        if any(isinstance(call.operator, Flow) for call in rest):
            return False
        if any(self._root(value) is target for call in rest for value in call.values()):
            return False
        if any(self._root(other) is target for other in self._sources):
            return False
        for call in rest:
            call.replace(source, target)
        self._makers.setdefault(target, []).append(makers[0])
        return True

    def _root(self, value: Any) -> Any:
        """The value whose memory it may share, as far as the body says."""
        while isinstance(value, Value) and value not in self._targets:
            makers = self._makers.get(value, [])
            if len(makers) != 1 or not keeps_bytes(self._calls[makers[0]]):
                break
            value = self._calls[makers[0]].arguments[0]
        return value
