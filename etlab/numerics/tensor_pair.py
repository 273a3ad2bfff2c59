"""`TensorPair`: one tensor as a path and its reference computed it, with histograms."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch

from etlab import display
from etlab.numerics.histogram import Histogram, count_values, draw_histogram
from etlab.numerics.metrics import all_metrics

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True, slots=True, eq=False)
class TensorPair:
    """What a path and the reference computed for one operator.

    Attributes:
        operator: its node in the exported program.
        path: who computed `actual`.
        reference: who computed `expected`.
        actual: logical sizes; quantized integers are dequantized.
        expected: the same sizes.
        clip: the values that the quantized range ends at; None for what is not quantized.
        local: whether `actual` was computed from the reference's inputs.
        sample: place of the sample.
    """

    operator: str
    path: str
    reference: str
    actual: torch.Tensor
    expected: torch.Tensor
    clip: tuple[float, float] | None = None
    local: bool = False
    sample: int = 0

    @property
    def difference(self) -> torch.Tensor:
        """`actual - expected`, float64."""
        return self.actual.double() - self.expected.double()

    @property
    def metrics(self) -> dict[str, float | None]:
        """Every metric by name."""
        pair = [self.actual], [self.expected]
        return {name: one.compute(*pair) for name, one in all_metrics().items()}

    @property
    def clipped(self) -> tuple[float, float]:
        """The shares of the reference's elements below and above the quantized range."""
        if self.clip is None or not self.expected.numel():
            return (0.0, 0.0)
        values = self.expected.double()
        low, high = self.clip
        return float((values < low).double().mean()), float((values > high).double().mean())

    def worst(self, n: int = 10) -> "pandas.DataFrame":
        """The `n` elements that are farthest apart: place, both values, difference."""
        import pandas

        flat = torch.nan_to_num(self.difference.abs().reshape(-1), nan=float("inf"))
        places = flat.topk(min(n, flat.numel())).indices.tolist()
        rows = []
        for place in places:
            index = tuple(
                int(i) for i in torch.unravel_index(torch.tensor(place), self.actual.shape)
            )
            left, right = float(self.actual[index]), float(self.expected[index])
            rows.append({"index": index, self.path: left, self.reference: right, "Δ": left - right})
        return pandas.DataFrame(rows)

    @property
    def counts(self) -> Histogram:
        """How often which values come on both sides."""
        return count_values(self.actual, self.expected, self.clip)

    def histogram(self) -> str:
        """Both distributions as an SVG, with the ends of the quantized range."""
        return draw_histogram(self.counts, labels=(self.path, self.reference))

    def __repr__(self) -> str:
        """One line."""
        how = " alone" if self.local else ""
        sizes = list(self.actual.shape)
        sqnr = all_metrics()["sqnr_db"]
        value = sqnr.format(sqnr.compute([self.actual], [self.expected]))
        return (
            f"TensorPair({self.operator} {sizes}: {self.path}{how}, {self.reference}: {value} dB)"
        )

    def _repr_html_(self) -> str:
        rows = [(one.label, one.format(self.metrics[name])) for name, one in all_metrics().items()]
        if self.clip is not None:
            low, high = self.clipped
            rows.append(("out of range", f"{low:.2%} below, {high:.2%} above"))
        how = " from the reference's inputs" if self.local else ""
        words = f"histograms of {self.path} and {self.reference}"
        return display.card(
            f"{self.operator}: {self.path}{how} against {self.reference}",
            display.svg_image(self.histogram(), alternative=words, width=640),
            display.table(["metric", "value"], rows, numeric=["value"]),
            subtitle=f"{list(self.actual.shape)}, sample {self.sample}",
        )
