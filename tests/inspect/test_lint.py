"""Each rule finds what it is about, where it is, and is silent otherwise."""

import pytest
import torch
from torch import nn
from torch.ao.quantization.fx import _decomposed  # noqa: F401 (registers the operators)

import etlab
from etlab.errors import NotFoundError
from etlab.inspect.lint import all_rules


class Clean(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.relu(self.first(x)))


class Wide(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("table", torch.arange(64))
        self.register_buffer("large", torch.arange(64) + 2**40)
        self.register_buffer("exact", torch.randn(64, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return (x[self.table] + self.large).sum() + (x.double() * self.exact).float()


class Pair(nn.Module):
    """Rounds to int8 and back, twice: once with the same, once with other parameters."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        quantize = torch.ops.quantized_decomposed.quantize_per_tensor.default
        dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default
        limits = (-128, 127, torch.int8)
        y = dequantize(quantize(x, 0.1, 0, *limits), 0.1, 0, *limits)
        z = dequantize(quantize(y, 0.2, 3, *limits), 0.2, 3, *limits)
        return torch.sin(z)


class Borders(nn.Module):
    """A convolution, an operator that the delegate does not take, a convolution."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 4, 3)
        self.second = nn.Conv2d(4, 5, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.second(torch.atan(self.first(x)))


class Late(nn.Module):
    """Keeps a large value until the end."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        large = torch.sin(x)
        y = x[:, :4]
        for _ in range(4):
            y = torch.cos(y)
        return y + large[:, :4]


def lint(model, *inputs, rules=None, partitioner=None):
    run = etlab.export(model.eval(), inputs, partitioner=partitioner, name="model")
    return run.lint(rules)


@pytest.mark.parametrize("partitioner", [None, "xnnpack"])
def test_clean_model_has_no_findings(partitioner):
    others = [name for name in all_rules() if name != "alive-at-peak"]
    report = lint(Clean(), torch.randn(2, 5), rules=others, partitioner=partitioner)
    assert not report, str(report)
    assert "nothing found" in repr(report)
    assert "nothing found by" in str(report)
    assert "nothing found by" in report._repr_html_()


def test_wide_constants_and_computations_are_found_where_they_are_used():
    report = lint(Wide(), torch.randn(64), rules=["wide-numbers"])
    texts = {
        finding.text.split("'")[1]: finding for finding in report.findings if "'" in finding.text
    }
    assert set(texts) == {"table", "exact"}
    assert texts["table"].nbytes == 512
    assert "int32" in texts["table"].remedy
    assert texts["table"].source.startswith("test_lint.py:")
    (computed,) = [finding for finding in report.findings if "'" not in finding.text]
    assert "computed in float64" in computed.text
    assert "x.double()" in computed.line


def test_rounding_for_nothing_is_found():
    report = lint(Pair(), torch.randn(3, 5), rules=["dangling-quantization", "requantization"])
    dangling, chained = report.of("dangling-quantization"), report.of("requantization")
    assert len(dangling) == 2
    assert all("computes in float" in finding.text for finding in dangling)
    (finding,) = chained
    assert "from scale 0.1, zero point 0 to scale 0.2, zero point 3" in finding.text
    assert finding.nbytes == 15
    assert finding.source.startswith("test_lint.py:")


def test_integers_that_no_delegate_computes_with_are_found():
    model = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 3)).eval()
    x = torch.randn(2, 64)
    report = etlab.export(model, (x,), quantizer="int8").lint()
    texts = [finding.text for finding in report.of("dangling-quantization")]
    assert sum("is dequantized in every run" in text for text in texts) == 2
    assert sum("to integers and back" in text for text in texts) >= 2
    assert not report.of("wide-numbers")  # zero points have the type that operators ask for
    delegated = etlab.export(model, (x,), quantizer="int8", partitioner="xnnpack").lint()
    assert not delegated.of("dangling-quantization"), str(delegated)


def test_operator_between_delegates_is_told_with_its_remedy():
    report = lint(Borders(), torch.randn(1, 3, 9, 9), partitioner="xnnpack")
    left = [finding for finding in report.findings if finding.rule == "left-out"]
    assert all(finding.remedy for finding in left)
    assert not lint(Borders(), torch.randn(1, 3, 9, 9), rules=["left-out"])


def test_transpositions_on_both_sides_of_a_border_are_found():
    class Direct(nn.Module):
        """Two convolutions that a limit on partitions keeps apart."""

        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 4, 3)
            self.second = nn.Conv2d(4, 5, 3)

        def forward(self, x):
            return self.second(self.first(x))

    from etlab.backends.xnnpack import XnnpackPerOpPartitioner

    x = torch.randn(1, 3, 9, 9)
    report = lint(Direct(), x, rules=["layout-copies"], partitioner=XnnpackPerOpPartitioner())
    (finding,) = report.findings
    assert "transposes it back" in finding.text
    assert finding.nbytes == 2 * 4 * 4 * 7 * 7
    whole = lint(Direct(), x, rules=["layout-copies"], partitioner="xnnpack")
    assert not whole, str(whole)


def test_large_values_at_the_peak_are_named():
    report = lint(Late(), torch.randn(4, 64), rules=["alive-at-peak"])
    kept = [finding for finding in report.findings if finding.operator.startswith("sin")]
    assert kept
    assert "bytes alive at the peak" in kept[0].text
    assert kept[0].source.startswith("test_lint.py:")
    assert kept[0].nbytes == 1024


def test_report_has_table_text_and_frame():
    report = lint(Pair(), torch.randn(3, 5))
    assert report
    assert len(report.to_dataframe()) == len(report)
    assert {"node", "source", "remedy"} <= set(report.to_dataframe().columns)
    assert report.findings[0].remedy in str(report)
    assert "Lint of model" in report._repr_html_()


def test_unknown_rules_are_refused_with_those_there_are():
    with pytest.raises(NotFoundError, match="choose from alive-at-peak"):
        lint(Clean(), torch.randn(2, 5), rules=["nothing"])


@pytest.mark.parametrize(
    ("quantizer", "is_found"),
    [("int4-weights", True), ("int8-weights", False), ("8da4w", False), ("int8", False)],
)
@pytest.mark.filterwarnings("ignore:calibration:UserWarning", "ignore:the quantizer:UserWarning")
def test_quantized_weights_that_a_delegate_keeps_in_float_are_named(quantizer, is_found):
    model = nn.Sequential(nn.Linear(64, 96), nn.ReLU(), nn.Linear(96, 32)).eval()
    inputs = (torch.linspace(-1, 1, 128).reshape(2, 64),)
    run = etlab.export(model, inputs, quantizer=quantizer, partitioner="xnnpack")
    found = run.lint("widened-weights").findings
    assert bool(found) == is_found
    if is_found:
        assert found[0].nbytes > 2 * 64 * 96
        assert "keeps them so" in found[0].text


def test_half_weights_that_a_delegate_keeps_in_float_are_named():
    inputs = (torch.linspace(-1, 1, 768).reshape(1, 3, 16, 16),)
    run = etlab.export(nn.Conv2d(3, 64, 3).eval(), inputs, quantizer="fp16", partitioner="xnnpack")
    assert run.lint("widened-weights").findings[0].nbytes > 64 * 27
