"""What goes on the page of a result, and where the files are written."""

import json as json_module
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etlab import display
from etlab.errors import AccessError, EtlabError, InvalidArgumentError
from etlab.reporting.numbers import numbers_of
from etlab.reporting.page import Section, write_page
from etlab.run import ExportRun


def report(
    subject: Any,
    path: str | Path = "report.html",
    *,
    json: str | Path | None = None,
    title: str | None = None,
) -> Path:
    """Write a result as one HTML file, and its numbers as JSON.

    The page asks no network and no kernel for anything; graphs unfold as live views in it. The
    same results give the same bytes.

    Args:
        subject: whatever etlab shows in a notebook (a run, a report, a plan, a graph, a view, a
            sweep, a program, …), or a list of such. A run's page has what is known without running
            it: give `[run, run.parity(), run.profile()]` for what is measured.
        path: of the HTML file.
        json: of the JSON file; by default beside the page, with the ending .json.
        title: of the page.

    Returns:
        The path of the page.

    Raises:
        InvalidArgumentError: something has nothing to show.
        AccessError: a place cannot be written.
    """
    subjects = list(subject) if type(subject) in (list, tuple) else [subject]
    if not subjects:
        raise InvalidArgumentError("report: expected at least one result, got none")
    parts = [part for one in subjects for part in _parts(one)]
    heading = title or _title(_data_of(parts[0]))
    numbers = json_module.dumps(
        {"title": heading, "results": [numbers_of(_data_of(part)) for part in parts]},
        separators=(",", ":"),
        allow_nan=False,
    )
    page = write_page(heading, [_section(part) for part in parts], numbers)
    target = Path(path)
    beside = Path(json) if json is not None else target.with_suffix(".json")
    if beside == target:
        raise InvalidArgumentError(f"report: page and JSON would both go to '{target}'")
    for place, text in ((target, page), (beside, numbers + "\n")):
        try:
            place.write_text(text, encoding="utf-8")
        except OSError as error:
            raise AccessError(f"report: cannot write '{place}': {error.strerror}") from error
    return target


def _parts(subject: Any) -> Sequence[Any]:
    """A run with what is known of it without running it; anything else as it says, or by itself."""
    if hasattr(subject, "report_parts"):
        return list(subject.report_parts())
    data = _data_of(subject)
    if not hasattr(data, "_repr_html_"):
        raise InvalidArgumentError(
            f"report: {type(subject).__name__} has nothing to show; give a run, a report, a plan,"
            " a graph, a view, or a list of these"
        )
    if isinstance(subject, ExportRun):
        return [
            subject,
            subject.delegation(),
            *([estimates] if (estimates := subject.estimates()) else []),
            subject.memory_plan(),
            subject.size(),
            subject.lint(),
            subject.graph(),
        ]
    return [subject]


def _data_of(subject: Any) -> Any:
    """What a view shows; anything else as it is."""
    if not hasattr(subject, "_snapshot_html"):
        return subject
    shown = (getattr(subject, name, None) for name in ("report", "data"))
    return next((data for data in shown if hasattr(data, "_repr_html_")), subject)


def _section(part: Any) -> Section:
    data = _data_of(part)
    view = part if data is not part else _view_of(data)
    live = view.to_html() if hasattr(view, "to_html") else ""
    text = display.details("as text", f"<pre>{display.escape(data)}</pre>")
    return Section(_title(data), data._repr_html_() + text, live)


def _view_of(data: Any) -> Any:
    """The live view of a result; None where it has none, or nothing that a view could show."""
    try:
        return data.widget() if hasattr(data, "widget") else None
    except EtlabError:
        return None


def _title(data: Any) -> str:
    name = next(
        (
            value
            for key in ("title", "model", "name")
            if isinstance(value := getattr(data, key, None), str) and value
        ),
        "",
    )
    words = "".join(f" {letter.lower()}" if letter.isupper() else letter for letter in _kind(data))
    words = words.strip().capitalize()
    return f"{words}: {name}" if name else words


def _kind(data: Any) -> str:
    names = {"GraphData": "Graph", "MemoryReport": "MemoryPlan", "ExportRun": "Export"}
    return names.get(type(data).__name__, type(data).__name__)
