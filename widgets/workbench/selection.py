"""One selection for all views of a bench: they name different nodes of the same model."""

from collections.abc import Iterable
from typing import Any

from etlab.inspect.graph import GraphData


class SharedSelection:
    """Links the `selection` of views by where their nodes came from.

    Reports of numbers name operators of the exported graph, others nodes of the lowered one. What
    is selected in one view is selected in the others under their own names.
    """

    def __init__(self) -> None:
        self._views: dict[str, Any] = {}
        self._origins: dict[str, frozenset[str]] = {}
        self._is_busy = False
        self.names: list[str] = []

    def follow(self, graph: GraphData) -> None:
        """Take the names of another run: its lowered graph."""
        self._origins = {node.name: frozenset(node.origins) for node in graph.nodes}

    def add(self, key: str, view: Any) -> None:
        """Link a view in place of the one that was there under `key`."""
        self._views[key] = view
        if not hasattr(view, "selection"):
            return
        view.observe(lambda change: self._spread(key, change["new"]), "selection")
        self._put(view)

    def _spread(self, key: str, names: Iterable[str]) -> None:
        if self._is_busy:
            return
        self._is_busy = True
        try:
            self.names = list(names)
            for other, view in self._views.items():
                if other != key and hasattr(view, "selection"):
                    self._put(view)
        finally:
            self._is_busy = False

    def _put(self, view: Any) -> None:
        """Select in a view what is selected elsewhere, as far as it has that."""
        known = _names_of(view)
        wanted = self._relatives()
        chosen = [name for name in self.names if known is None or name in known]
        if not chosen and known is not None:
            chosen = sorted(name for name in known if name in wanted)
        if chosen or known is not None:
            view.selection = chosen

    def _relatives(self) -> set[str]:
        """All names of what is selected: in the exported graph, and in the lowered one."""
        exported = set(self.names)
        for name in self.names:
            exported |= self._origins.get(name, frozenset())
        return exported | {name for name, of in self._origins.items() if of & exported}


def _names_of(view: Any) -> set[str] | None:
    """What a view can select; None when it does not say."""
    data = getattr(view, "data", None)
    if isinstance(data, GraphData):
        return {*data.places, *(group.name for group in data.groups)}
    names = getattr(view, "_names", None)
    found = names() if names is not None else None
    return None if found is None else set(found)
