"""What `torch.export` refuses, in words: which line decided it, and the way out."""

import contextlib
import re
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import torch

from etlab.exir.recurrent import PACKED_WAY_OUT

_LIBRARIES = (str(Path(torch.__file__).parent), str(Path(__file__).parent), "<")


def explain(name: str, error: Exception, export_again: Callable[[], Any]) -> str:
    """Why `torch.export` refused a model.

    Args:
        name: of the model.
        error: what it raised.
        export_again: the same export; it is run once more to find the lines that decided about
            dynamic sizes.
    """
    text = str(error)
    first = next((line.strip() for line in text.splitlines() if line.strip()), "")
    lines = [f"torch.export refused {name}: {type(error).__name__}: {first[:300]}"]
    decided = [] if "Constraints violated" not in text else _deciding_lines(export_again)
    lines += [f"  {line}" for line in _reasons(text)]
    line = _user_line(error.__traceback__)
    if line is not None and not decided:
        lines.append(f"  at {line}")
    lines += [f"  decided at {place} ({guard})" for guard, place in decided]
    is_packed = re.search(r"pack(ed|_padded)_sequence", line or "") is not None
    lines.append(PACKED_WAY_OUT if is_packed else _way_out(text))
    return "\n".join(lines)


def _reasons(text: str) -> list[str]:
    """What a refusal of dynamic shapes says, without its advice for torch's own developers."""
    bullets = re.findall(r"^\s+- (.*)$", text, re.MULTILINE)
    shortened = [bullet.split(" If you're using")[0] for bullet in bullets]
    return [re.sub(r"L\['(\w+)'\]\.size\(\)\[(\d+)\]", r"\1.shape[\2]", one) for one in shortened]


def _way_out(text: str) -> str:
    if "specialized it to be a constant" in text:
        return (
            "The model only works for this one size: make the dimension static (leave it out of "
            "dynamic_shapes), or write the line so that it asks x.shape for the size."
        )
    excluded = re.search(r"!= (\d+)\.?$", text, re.MULTILINE)
    if excluded is not None:
        size = int(excluded[1])
        return (
            f"The line treats size {size} apart, as a slice does that may take a whole tensor: "
            f"declare the dimension up to {size - 1}, or make the tensor that is sliced one longer."
        )
    if "generated guard" in text or "Constraints violated" in text:
        return (
            "torch.export cannot prove that the line is right for every size in the declared range:"
            " write it with fewer steps (one reshape for several in a row, -1 for the size that "
            "follows from the others), or declare a narrower range."
        )
    if "data-dependent" in text:
        return (
            "The line decides by a value that is only known when the program runs: use torch.where "
            "to choose between values, torch.cond to choose between computations, or torch._check "
            "to promise what the value is (torch._check(n <= 8) after n = x.item())."
        )
    return "Check that model(*inputs) runs; the whole message is the cause of this error."


def _deciding_lines(export_again: Callable[[], Any]) -> list[tuple[str, str]]:
    """The conditions on dynamic sizes that an export meets, each with the model's line."""
    found: dict[str, str] = {}
    with _watched_guards(found), contextlib.suppress(Exception):
        export_again()
    places: dict[str, str] = {}
    for guard, place in found.items():
        places.setdefault(place, guard)
    return [(guard, place) for place, guard in places.items()]


@contextlib.contextmanager
def _watched_guards(found: dict[str, str]) -> Iterator[None]:
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    original: Any = ShapeEnv._log_guard

    def watch(self: Any, prefix: str, guard: Any, *args: Any, **kwargs: Any) -> Any:
        frames = traceback.extract_stack()
        place = next((_place(frame) for frame in reversed(frames) if _is_users(frame)), None)
        if place is not None:
            found.setdefault(str(guard), place)
        return original(self, prefix, guard, *args, **kwargs)

    ShapeEnv._log_guard = watch  # type: ignore[assignment, method-assign]  # put back below
    try:
        yield
    finally:
        ShapeEnv._log_guard = original  # type: ignore[method-assign]  # as it was


def _user_line(trace: Any) -> str | None:
    """The innermost line of the model in a traceback, or None."""
    frames = traceback.extract_tb(trace)
    return next((_place(frame) for frame in reversed(frames) if _is_users(frame)), None)


def _is_users(frame: traceback.FrameSummary) -> bool:
    path = frame.filename
    return not path.startswith(_LIBRARIES) and frame.name == "forward"


def _place(frame: traceback.FrameSummary) -> str:
    return f"{frame.filename}:{frame.lineno}: {(frame.line or '').strip()}"
