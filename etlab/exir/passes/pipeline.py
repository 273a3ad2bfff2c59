"""Which passes run by default, and how passes are run."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from etlab.errors import LoweringError
from etlab.exir.edge import EdgeGraph
from etlab.exir.graph import rename_outputs
from etlab.exir.passes.base import Pass
from etlab.exir.passes.expand_attention import ExpandAttention
from etlab.exir.passes.expand_recurrent import ExpandRecurrent
from etlab.exir.passes.fold_batch_norm import FoldBatchNorm
from etlab.exir.passes.fold_constants import FoldConstants
from etlab.exir.passes.remove_dead_code import RemoveDeadCode
from etlab.exir.passes.remove_noops import RemoveNoops
from etlab.exir.passes.slice_dynamic_splits import SliceDynamicSplits
from etlab.exir.verify import verify

# After decomposition, before partitioning.
EDGE_PASSES: Sequence[Pass] = (
    RemoveNoops(),
    FoldBatchNorm(),
    # After folding, which leaves arithmetic on weights behind.
    FoldConstants(),
    RemoveDeadCode(),
)

# Before emission: what stayed whole for the backends' sake is taken apart.
EMISSION_PASSES: Sequence[Pass] = (
    ExpandAttention(),
    ExpandRecurrent(),
    SliceDynamicSplits(),
    # Initial states of zero, taken apart a layer at a time.
    FoldConstants(),
    RemoveDeadCode(),
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

    for given in passes:
        one = given if isinstance(given, Pass) else FxPass(given)
        one.requires(graph)
        result = one.run(graph)
        if not result.changed:
            continue
        rename_outputs(graph)
        one.ensures(graph)
        if verify_each:
            try:
                verify(graph, allow=None)
            except LoweringError as error:
                raise LoweringError(f"pass {one.name} left an invalid graph: {error}") from error
    return graph
