"""Where a node comes from: its module, its source line, its operator, its size."""

import re
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import fx

_FRAME = re.compile(
    r'File "([^"]*)", line (\d+)(?:, in ([^\n]*))?(?:\s*\n\s*(?!File ")(\S[^\n]*))?'
)
_LIBRARY = str(Path(torch.__file__).parent)


def operator_of(node: fx.Node) -> str:
    """The operator's name without its namespace's default overload: `aten.add.Tensor` as `add`."""
    target: Any = node.target
    if isinstance(target, torch._ops.OpOverload):
        namespace, _, name = target._schema.name.partition("::")
        return name if namespace == "aten" else f"{namespace}::{name}"
    return str(getattr(target, "__name__", target))


def short_operator(name: str) -> str:
    """An operator of a program without its namespace and out suffix.

    >>> short_operator("aten::convolution.out"), short_operator("quantized_decomposed::add.out")
    ('convolution', 'quantized_decomposed::add')
    """
    return name.removeprefix("aten::").removesuffix(".out")


def module_of(node: fx.Node) -> str:
    """Path of the innermost module, such as `blocks.3.project`; empty at the top."""
    stack = node.meta.get("nn_module_stack") or {}
    path = ""
    for entry in stack.values():
        path = str(entry[0])
    return plain_path(path)


@lru_cache(maxsize=65536)
def plain_path(path: str) -> str:
    """A module's path without torch's prefix and brackets.

    >>> plain_path("L['self'].blocks['3'].project")
    'blocks.3.project'
    """
    path = path.removeprefix("L['self'].").removeprefix("L['self']")
    return re.sub(r"\['?([^'\]]*)'?\]", r".\1", path).strip(".")


def source_of(node: fx.Node) -> str:
    """`file.py:12` of the innermost frame of the user's code; empty when unknown."""
    return source_line(node)[0]


def source_line(node: fx.Node) -> tuple[str, str]:
    """`file.py:12` and the text of that line, both empty when unknown."""
    file, line, text = source_place(node)
    return (f"{Path(file).name}:{line}", text) if file else ("", "")


def source_place(node: fx.Node) -> tuple[str, int, str]:
    """Full path of the file, number and text of the line; `("", 0, "")` when unknown.

    The innermost frame counts that is not PyTorch's own; of a model made of PyTorch's modules only,
    the innermost of all.
    """
    return place_in(node.meta.get("stack_trace") or "")


@lru_cache(maxsize=4096)
def place_in(trace: str) -> tuple[str, int, str]:
    """`source_place` of a stack trace."""
    frames = frames_in(trace)
    if not frames:
        return "", 0, ""
    own = [frame for frame in frames if not frame.file.startswith(_LIBRARY)]
    innermost = (own or frames)[-1]
    return innermost.file, innermost.line, innermost.text


class TraceFrame(NamedTuple):
    """One call of a stack trace: where it stands, in which function, and the text of the line."""

    file: str
    line: int
    function: str
    text: str


def frames_in(trace: str) -> list[TraceFrame]:
    r"""The frames of a stack trace as Python writes it, outermost first.

    >>> frames_in('File "model.py", line 3, in forward\n    return x + 1\n')
    [TraceFrame(file='model.py', line=3, function='forward', text='return x + 1')]
    """
    return [
        TraceFrame(file, int(line), function.strip(), text.strip())
        for file, line, function, text in _FRAME.findall(trace)
    ]


def values_of(node: fx.Node) -> list[torch.Tensor]:
    """The fake tensors that a node gives."""
    value = node.meta.get("val")
    candidates = value if isinstance(value, list | tuple) else [value]
    return [one for one in candidates if isinstance(one, torch.Tensor)]


def shape_of(value: torch.Tensor) -> tuple[int | str, ...]:
    """Sizes; symbolic ones by name."""
    return tuple(size if isinstance(size, int) else str(size) for size in value.shape)


def bytes_of(value: torch.Tensor) -> int | None:
    """Bytes of a tensor, None for symbolic sizes."""
    if any(not isinstance(size, int) for size in value.shape):
        return None
    return int(value.numel()) * value.element_size()
