"""Which passes run by default, and how passes are run."""

import operator
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from etlab.errors import InvalidArgumentError, LoweringError
from etlab.exir import stages
from etlab.exir.edge import EdgeGraph, PassRecord
from etlab.exir.graph import rename_outputs
from etlab.exir.passes.base import Pass
from etlab.exir.passes.expand_attention import ExpandAttention
from etlab.exir.passes.expand_qr import ExpandQr
from etlab.exir.passes.expand_recurrent import ExpandRecurrent
from etlab.exir.passes.expand_volumes import ExpandVolumes
from etlab.exir.passes.fold_batch_norm import FoldBatchNorm
from etlab.exir.passes.fold_constants import FoldConstants
from etlab.exir.passes.merge_common import MergeCommon
from etlab.exir.passes.merge_views import MergeViews
from etlab.exir.passes.remove_dead_code import RemoveDeadCode
from etlab.exir.passes.remove_noops import RemoveNoops
from etlab.exir.passes.slice_dynamic_splits import SliceDynamicSplits
from etlab.exir.verify import verify

# After decomposition, before partitioning. Any of them may be left out.
EDGE_PASSES: Sequence[Pass] = (
    # First, as it makes views that RemoveNoops then finds to be none.
    MergeViews(),
    RemoveNoops(),
    FoldBatchNorm(),
    # After folding, which leaves arithmetic on weights behind.
    FoldConstants(),
    MergeCommon(),
    RemoveDeadCode(),
)

# Before emission: what stayed whole for the backends' sake is taken apart.
_CLOSING_PASSES: Sequence[Pass] = (
    SliceDynamicSplits(),
    ExpandVolumes(),
    # Weights of planes, and initial states of zero, taken apart a layer at a time.
    FoldConstants(),
    RemoveDeadCode(),
)
EMISSION_PASSES: Sequence[Pass] = (
    ExpandAttention(),
    ExpandRecurrent(),
    ExpandQr(),
    *_CLOSING_PASSES,
)
# The same where the program may hold operators that only etlab's runtime has.
EXTENDED_EMISSION_PASSES: Sequence[Pass] = (
    ExpandAttention(keeps_served=True),
    ExpandRecurrent(keeps_served=True),
    *_CLOSING_PASSES,
)


def run_passes(
    graph: EdgeGraph,
    passes: Iterable[Pass | Callable[..., Any]],
    *,
    verify_each: bool = False,
) -> EdgeGraph:
    """Run passes in order over `graph`, in place.

    Args:
        graph: what they edit.
        passes: our passes, or torch.fx passes (see `etlab.exir.passes.fx_adapter`).
        verify_each: verify the graph after every pass that changed it (tests do).

    Returns:
        The graph.

    Raises:
        LoweringError: a pass broke its contract; the message names it.
    """
    from etlab.exir.passes.fx_adapter import FxPass

    listener = stages.current()
    on_pass = listener.on_pass if listener is not None else None
    if on_pass is not None:
        on_pass("", graph)
    before = _census(graph)
    for given in passes:
        one = given if isinstance(given, Pass) else FxPass(given)
        one.requires(graph)
        begin = time.perf_counter()
        result = one.run(graph)
        seconds = time.perf_counter() - begin
        after = _census(graph) if result.changed else before
        removed, added = (
            dict(sorted((before - after).items())),
            dict(sorted((after - before).items())),
        )
        graph.history.append(PassRecord(one.name, result.changed, removed, added, seconds))
        before = after
        if not result.changed:
            continue
        rename_outputs(graph)
        one.ensures(graph)
        if on_pass is not None:
            on_pass(one.name, graph)
        if verify_each:
            try:
                verify(graph, allow=None)
            except LoweringError as error:
                raise LoweringError(f"pass {one.name} left an invalid graph: {error}") from error
    return graph


def edge_passes(left_out: Iterable[str]) -> list[Pass]:
    """The edge passes but those named.

    Raises:
        InvalidArgumentError: a name is none of an edge pass.
    """
    if isinstance(left_out, str):
        raise InvalidArgumentError(
            f"skip_passes: expected a collection of names, got a string; write [{left_out!r}]"
        )
    names = set(left_out)
    known = [one.name for one in EDGE_PASSES]
    if unknown := sorted(names - set(known)):
        raise InvalidArgumentError(
            f"skip_passes: {', '.join(map(repr, unknown))} is no edge pass; there are: "
            + ", ".join(known)
        )
    return [one for one in EDGE_PASSES if one.name not in names]


def _census(graph: EdgeGraph) -> Counter[str]:
    """How many calls of each operator there are, bodies of control flow included."""
    targets: Counter[Any] = Counter({"tensors": len(graph.tensors)})
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target is not operator.getitem:
            targets[node.target] += 1
    counts: Counter[str] = Counter()
    for target, count in targets.items():
        counts[_label(target)] += count
    for body in graph.submodules.values():
        if isinstance(body, EdgeGraph):
            counts += _census(body)
    return counts


def _label(target: Any) -> str:
    return target if isinstance(target, str) else str(getattr(target, "__name__", target))
