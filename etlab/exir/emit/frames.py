"""Stack traces of nodes as the frames that a program can carry."""

from torch import fx

from etlab.exir.emit.schema import Frame, FrameList
from etlab.exir.provenance import frames_in


def frames_of(node: fx.Node | None) -> FrameList:
    """The frames of a node's stack trace, outermost first; none when it has no trace."""
    trace = (node.meta.get("stack_trace") or "") if node is not None else ""
    return FrameList(
        tuple(Frame(one.file, one.line, one.function, one.text) for one in frames_in(trace))
    )
