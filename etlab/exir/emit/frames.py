"""Stack traces of nodes as the frames that a program can carry."""

import re

from torch import fx

from etlab.exir.emit.schema import Frame, FrameList

_FRAME = re.compile(r'File "(?P<file>[^"]*)", line (?P<line>\d+)(?:, in (?P<name>.*))?')


def frames_of(node: fx.Node | None) -> FrameList:
    """The frames of a node's stack trace, outermost first; none when it has no trace."""
    trace = (node.meta.get("stack_trace") or "") if node is not None else ""
    frames: list[Frame] = []
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    for index, line in enumerate(lines):
        match = _FRAME.match(line)
        if match is None:
            continue
        following = lines[index + 1] if index + 1 < len(lines) else ""
        context = "" if _FRAME.match(following) else following
        frames.append(Frame(match["file"], int(match["line"]), match["name"] or "", context))
    return FrameList(tuple(frames))
