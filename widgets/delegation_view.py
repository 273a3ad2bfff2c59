"""`DelegationView`: who computes what, why calls stayed, and what the borders cost."""

from collections.abc import Mapping
from typing import Any

from etlab import display
from etlab.inspect.delegation import OWN_KERNELS, DelegationReport, summary
from etlab.widgets._data_view import DataView, view_files
from etlab.widgets._job import Working


class DelegationView(Working, DataView):
    """A delegation report in a cell.

    Bars say who computes how many of the calls, bytes and FLOPs, and how much of the time where
    the report was measured (`run.delegation(runs=5)`, `view.measure()`); tables say why calls
    stayed with our own kernels and what would help, what every delegate holds, and which tensors
    cross its border.

    `view.selection` holds names of nodes, which a `GraphView` of the delegated graph takes.
    """

    _esm, _css = view_files("delegation_view", styles=("view/chart", "delegation_view"))
    report_type = DelegationReport
    report_call = "run.delegation()"

    def _content(self) -> dict[str, Any]:
        report: DelegationReport = self.report
        names = sorted({part.backend for part in report.parts})
        backends = {name: place for place, name in enumerate((*names, OWN_KERNELS))}
        parts = {part.name: place for place, part in enumerate(report.parts)}
        kinds = {(one.reason, one.help): place for place, one in enumerate(report.reasons)}
        colours = display.backend_colours(names)
        return {
            "title": f"{report.model}, partitioner {report.partitioner}: {summary(report)}",
            "runs": report.runs,
            "backends": list(backends),
            "colours": [colours.get(name, display.OWN_COLOUR) for name in backends],
            "shares": [
                [weight, [shares.get(name, 0.0) for name in backends]]
                for weight, shares in report.shares.items()
            ],
            "calls": [
                [
                    call.node,
                    call.operator,
                    call.module,
                    f"{call.source}  {call.line}".strip(),
                    call.reason,
                    call.nbytes,
                    call.flops,
                    call.seconds,
                    backends[call.backend if call.part else OWN_KERNELS],
                    parts.get(call.part, -1),
                    kinds.get((call.kind, call.help), -1) if not call.part else -1,
                ]
                for call in report.calls
            ],
            "reasons": [
                [one.reason, one.help, one.operators, one.calls, one.nbytes, one.flops, one.seconds]
                for one in report.reasons
            ],
            "parts": [
                [
                    part.name,
                    part.backend,
                    ", ".join(f"{name} {count}" for name, count in part.operators.items()),
                    len(part.nodes),
                    part.bytes_in,
                    part.bytes_out,
                    part.payload,
                    part.seconds,
                ]
                for part in report.parts
            ],
            "borders": [
                [
                    one.tensor,
                    one.made_by,
                    one.used_by,
                    " x ".join(map(str, one.shape)) or "scalar",
                    one.dtype,
                    one.nbytes,
                ]
                for one in report.borders
            ],
            "modules": [
                [one.module, one.operators, one.calls, one.stayed] for one in report.by_module
            ],
            "operators": [
                [
                    one.operator,
                    one.backends,
                    one.calls,
                    one.delegated,
                    one.nbytes,
                    one.flops,
                    one.own_seconds,
                ]
                for one in report.by_op
            ],
        }

    def _code(self) -> str:
        runs = self.report.runs
        return f"run.delegation(runs={runs})" if runs else self.report_call

    def _names(self) -> frozenset[str]:
        return frozenset(call.node for call in self.report.calls)

    def measure(self, runs: int = 5) -> None:
        """Show the report with the times of so many native runs.

        Raises:
            InvalidArgumentError: the report was made without its run.
            EtlabError: the native runtime refuses or fails.
        """
        self.report = self.report.measured(runs)

    def _reply(self, question: Mapping[str, Any]) -> dict[str, Any]:
        if question["type"] != "measure":
            return super()._reply(question)
        self.start(self.measure)
        return {}
