"""`ParityView`: how close every operator of every path is to the reference, and where it ends."""

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from weakref import WeakKeyDictionary

import traitlets

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.numerics import ParityReport
from etlab.numerics import metric as metric_of
from etlab.run import ExportRun
from etlab.widgets._data_view import DataView, view_files
from etlab.widgets._job import Working
from etlab.widgets._parity_content import parity_content, tensor_content

_WORST = 1  # operators whose tensors a page without a kernel holds


class ParityView(Working, DataView):
    """A parity report in a cell.

    Args:
        report: what to show; `run.parity()` gives one.
        path: whose operators the table lists; where something diverges first, by default.
        metric: what the depth plot shows; the report's first metric by default.
        options: `height` and `theme`.

    Raises:
        NotFoundError: the report has no such path or metric.

    `view.selection` holds names of operators, nodes of the exported graph. `view.keep_float()` says
    which modules they are in, `view.rerun()` leaves these in float and compares again; `view.run`
    is the run that is shown, `view.rounds` what came of every one.
    """

    _esm, _css = view_files("parity_view", styles=("view/chart", "parity_view"))
    report_type = ParityReport
    report_call = "run.parity()"

    path = traitlets.Unicode("").tag(sync=True)
    metric = traitlets.Unicode("").tag(sync=True)
    rounds = traitlets.List(traitlets.List()).tag(sync=True)

    def __init__(self, report: ParityReport, *, path: str = "", metric: str = "", **options: Any):
        """Show a report."""
        self._kept = WeakKeyDictionary[ExportRun, tuple[str, ...]]()
        super().__init__(report, **{"height": 760, **options})
        if path:
            self.path = path
        if metric:
            self.metric = metric

    @property
    def run(self) -> ExportRun:
        """The run that was compared.

        Raises:
            InvalidArgumentError: the report was made without one.
        """
        if self.report.origin is None:
            raise InvalidArgumentError("this report was made without its run: use run.parity()")
        run: ExportRun = self.report.origin.run
        return run

    def keep_float(self, operators: Iterable[str] | None = None) -> list[str]:
        """The modules that operators are in, as quantizers take them for `keep_float`.

        Args:
            operators: their names; those selected by default. What stands in no module but the
                whole model has none.
        """
        layers = self.report.layers
        wanted = self.selection if operators is None else operators
        return [] if layers is None else list(layers.to_quantizer_overrides(wanted)["keep_float"])

    def rerun(self, keep_float: Sequence[str] | None = None) -> ExportRun:
        """Export with more modules in float, compare on the same data, and show that.

        Args:
            keep_float: the modules; those of the selection by default.

        Raises:
            InvalidArgumentError: there is none.
            EtlabError: as `etlab.export`, `run.parity()`.
        """
        kept = self.keep_float() if keep_float is None else list(keep_float)
        if not kept:
            raise InvalidArgumentError(
                "rerun: select operators of modules first, the worst of them for example"
            )
        run = self.run.again(keep_float=kept)
        report = self.report.again(run)
        self._kept[run] = tuple(dict.fromkeys((*self._kept_by_hand(), *kept)))
        self.report = report
        return run

    def compare_with(self, reference: str) -> None:
        """Compare with another path that PyTorch runs: "eager", "exported" or "quantized".

        Raises:
            EtlabError: as `run.parity()`.
        """
        self.report = self.report.again(reference=reference)

    def _kept_by_hand(self) -> tuple[str, ...]:
        """What the shown run leaves in float because this view was told so."""
        origin = self.report.origin
        return () if origin is None else self._kept.get(origin.run, ())

    def _content(self) -> dict[str, Any]:
        report: ParityReport = self.report
        content = parity_content(report)
        self.rounds = [*self.rounds, self._round()]
        paths = [path for path, _ in content["paths"]]
        if self.path not in paths:
            first = content["first"]
            self.path = first[0] if first else paths[-1] if paths else ""
        names = [one["name"] for one in content["metrics"]]
        if self.metric not in names:
            self.metric = names[0] if names else ""
        return content

    def _round(self) -> list[str]:
        """What came of this report: reference, what stays in float, the outputs' first metric."""
        report: ParityReport = self.report
        size = "" if report.origin is None else f"{len(self.run.file.data):,} B"
        said = []
        for row in report.rows:
            if row.status == "ok" and row.path != report.reference and report.metrics:
                first = metric_of(report.metrics[0])
                name = f"{row.path}/{row.output}" if row.output else row.path
                said.append(f"{name} {first.format(row.values.get(first.name))}")
        kept = ", ".join(self._kept_by_hand())
        return [str(len(self.rounds) + 1), report.reference, kept, size, ", ".join(said)]

    def _code(self) -> str:
        report: ParityReport = self.report
        kept = list(self._kept_by_hand())
        lines = [f"run = run.again(keep_float={kept!r})"] if kept else []
        given = {} if report.origin is None else report.origin.options
        others = [
            f"{name}={given[name]!r}"
            for name, default in _parity_defaults().items()
            if name in given and given[name] != default
        ]
        return "\n".join([*lines, f"report = run.parity({', '.join(others)})"])

    def _names(self) -> frozenset[str]:
        layers = self.report.layers
        return frozenset() if layers is None else frozenset(row.operator for row in layers)

    def _answers(self) -> dict[str, Any]:
        """The tensors of what is selected, of the first divergence and of the worst operators."""
        report: ParityReport = self.report
        layers = report.layers
        if layers is None or report.origin is None:
            return {}
        first = layers.first_divergence(self.path)
        names = [*self.selection, *([first.operator] if first else [])]
        names += [row.operator for row in layers.worst(_WORST, path=self.path)]
        compared = {
            row.operator for row in layers if row.path == self.path and row.accumulated is not None
        }
        return {
            f"tensors {name} {self.path} false": tensor_content(layers.tensors(name, self.path))
            for name in dict.fromkeys(names)
            if name in compared
        }

    def _reply(self, question: Mapping[str, Any]) -> dict[str, Any]:
        kind = question["type"]
        if kind == "tensors":
            operator, path = str(question.get("operator")), str(question.get("path"))
            local = bool(question.get("local"))
            report: ParityReport = self.report
            if report.layers is None:
                raise InvalidArgumentError("this report compares outputs only")
            return tensor_content(report.layers.tensors(operator, path, local=local))
        if kind == "keep":
            return {"modules": self.keep_float()}
        if kind == "rerun":
            self.start(self.rerun, self.keep_float())
        elif kind == "reference":
            self.start(self.compare_with, str(question.get("reference")))
        elif kind == "stop":
            self.stop()
        else:
            return super()._reply(question)
        return {}

    @traitlets.validate("path")
    def _check_path(self, proposal: Any) -> str:
        known = [] if self.report.layers is None else self.report.layers.paths
        return _known("path", str(proposal["value"]), known)

    @traitlets.validate("metric")
    def _check_metric(self, proposal: Any) -> str:
        known = () if self.report.layers is None else self.report.layers.metrics
        return _known("metric", str(proposal["value"]), known)

    def to_svg(self) -> str:
        """The metric along the depth of the model."""
        layers = self.report.layers
        return "" if layers is None else layers.to_svg(self.metric)


def _parity_defaults() -> dict[str, Any]:
    """Keywords of `ExportRun.parity` with their defaults."""
    parameters = inspect.signature(ExportRun.parity).parameters.values()
    return {one.name: one.default for one in parameters if one.kind is one.KEYWORD_ONLY}


def _known(what: str, name: str, known: Iterable[str]) -> str:
    if name and name not in known:
        names = ", ".join(known) or "none: it compares outputs only"
        raise NotFoundError(f"{what}: the report has no {name!r}; choose from {names}")
    return name
