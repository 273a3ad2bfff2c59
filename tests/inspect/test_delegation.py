import base64
import re

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.exir.partition.reasons import split_reason
from etlab.inspect.delegation_reader import NO_PARTITIONER

X = torch.linspace(-1, 1, 15).reshape(3, 5)


class Sum(nn.Module):
    """Two layers around what XNNPACK does not have."""

    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(5, 7), nn.Linear(7, 3)

    def forward(self, x):
        x = self.first(x)
        x = torch.cumsum(x, 1)  # splits the delegate
        return self.second(x).cumsum(0)


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(5, 7), nn.Tanh(), nn.Linear(7, 3)).eval()


@pytest.fixture(scope="module")
def split():
    torch.manual_seed(0)
    return etlab.export(Sum().eval(), (X,), partitioner="xnnpack")


def report(model, **choices):
    return etlab.export(model, (X,), **choices).delegation()


def picture(html):
    return base64.b64decode(re.search(r"svg\+xml;base64,([^\"]+)", html)[1]).decode()


def test_parts_list_what_a_backend_took(model):
    found = report(model, partitioner="reference")
    assert found.coverage == 1.0
    assert [(part.backend, dict(part.operators)) for part in found.parts] == [
        ("ReferenceBackend", {"linear": 2, "tanh": 1})
    ]
    (part,) = found.parts
    assert (part.bytes_in, part.bytes_out) == (60, 36)
    assert part.payload > 0
    assert "ReferenceBackend" in found._repr_html_()


def test_every_call_that_stayed_has_the_partitioners_reason_and_what_helps(model):
    found = report(model, partitioner="reference:operators=['linear']")
    by_op = {one.operator: (one.calls, one.delegated) for one in found.by_op}
    assert by_op == {"linear": (2, 2), "tanh": (1, 0)}
    (stayed,) = found.rejected
    assert "not among the operators asked for" in stayed.reason
    assert stayed.help == "name it in operators"
    assert stayed.source.startswith("activation.py:")
    frame = found.to_dataframe()
    assert list(frame.delegated) == [True, False, True]
    assert stayed.help in found._repr_html_()
    assert list(found.rejected.to_dataframe().reason) == [stayed.reason]


def test_without_a_partitioner_the_reason_is_that(model):
    found = report(model)
    assert {one.reason for one in found.rejected} == {NO_PARTITIONER}
    assert found.coverage == 0.0
    assert len(found.borders) == 0
    assert "own kernels 100.0%" in found._repr_html_()


def test_calls_stand_in_order_of_execution_with_the_line_of_the_model(split):
    found = split.delegation()
    assert [call.operator for call in found.calls] == ["linear", "cumsum", "linear", "cumsum"]
    first = found.rejected[0]
    assert first.source.startswith("test_delegation.py:")
    assert found.calls[1].line == "x = torch.cumsum(x, 1)  # splits the delegate"
    assert [call.module for call in found.calls] == ["first", "", "second", ""]


def test_alike_reasons_are_one_group(split):
    (group,) = split.delegation().reasons
    assert group.reason == "XNNPACK has nothing like it"
    assert group.calls == 2
    assert "operators that XNNPACK has" in group.help


def test_borders_are_the_tensors_that_cross(split):
    found = [(one.made_by, one.used_by, one.nbytes) for one in split.delegation().borders]
    assert found == [
        ("input", "lowered_module_0", 60),
        ("lowered_module_0", "own kernels", 84),
        ("own kernels", "lowered_module_1", 84),
        ("lowered_module_1", "own kernels", 36),
    ]
    assert list(split.delegation().borders.to_dataframe().nbytes) == [60, 84, 84, 36]


def test_shares_are_weighted_by_calls_bytes_and_flops(split):
    found = split.delegation()
    flops = {one.operator: one.flops for one in found.by_op}
    assert flops == {"linear": 2 * 3 * (5 * 7 + 7 * 3), "cumsum": 0}
    nbytes = {one.operator: one.nbytes for one in found.by_op}
    weights = 4 * (5 * 7 + 7 + 7 * 3 + 3)
    assert nbytes == {"linear": 60 + 84 + 84 + 36 + weights, "cumsum": 2 * 84 + 2 * 36}
    assert list(found.shares) == ["calls", "bytes", "FLOPs"]
    assert found.shares["calls"] == {"XnnpackBackend": 0.5, "own kernels": 0.5}
    assert found.shares["FLOPs"]["XnnpackBackend"] == 1.0
    assert all(sum(one.values()) == pytest.approx(1) for one in found.shares.values())


def test_time_is_measured_on_request_for_parts_and_own_calls(split):
    found = split.delegation(runs=2, inputs=X)
    assert all(part.seconds > 0 for part in found.parts)
    assert all(call.seconds > 0 for call in found.calls if not call.part)
    assert all(call.seconds is None for call in found.calls if call.part)
    assert sum(found.shares["time"].values()) == pytest.approx(1)
    assert "medians of 2 runs" in found._repr_html_()
    assert split.delegation().parts[0].seconds is None
    with pytest.raises(InvalidArgumentError, match="at least 1"):
        split.delegation(runs=-1)


def test_time_in_the_body_of_a_branch_belongs_to_the_branch():
    class Branch(nn.Module):
        def forward(self, x):
            y = x.cumsum(0)
            return torch.cond(x.sum() > 0, lambda x: x.cumsum(0) * 2, torch.sin, (y,))

    run = etlab.export(Branch(), (torch.ones(3, 5),))
    nodes = run.program.instruction_nodes()
    assert nodes.count("cumsum_default") == 1
    assert nodes.count("cond") == 5  # two jumps, two calls of one branch, one of the other
    seconds = {call.node: call.seconds for call in run.delegation(runs=1).calls}
    assert seconds["cond"] > 0


def test_sizes_that_vary_count_as_in_the_example():
    shapes = ({0: torch.export.Dim("rows", min=2, max=9)},)
    run = etlab.export(Sum().eval(), (X,), partitioner="xnnpack", dynamic_shapes=shapes)
    found = run.delegation()
    assert {one.operator: one.flops for one in found.by_op}["linear"] == 336
    assert found.borders[0].nbytes == 60
    assert found.borders[0].shape[1] == 5
    assert found.parts[0].bytes_in is None


def test_convolutions_and_attention_have_flops():
    class Attention(nn.Module):
        def forward(self, x):
            return nn.functional.scaled_dot_product_attention(x, x, x)

    x = torch.zeros(1, 2, 5, 7)
    found = etlab.export(Attention(), (x,)).delegation()
    assert sum(call.flops for call in found.calls) == 2 * 2 * (2 * 5 * 5 * 7)
    layer = nn.Conv2d(2, 6, 3, groups=2).eval()
    (call,) = etlab.export(layer, (x,)).delegation().calls
    assert call.flops == 2 * 6 * 3 * 5 * 9


def test_an_embedding_reads_the_rows_it_picks():
    layer = nn.Embedding(1000, 4).eval()
    (call,) = etlab.export(layer, (torch.tensor([3, 7, 1]),)).delegation().calls
    assert call.nbytes == 2 * 3 * 4 * 4 + 3 * 8


def test_the_summary_fits_a_screen_and_is_the_text_of_the_cell(split):
    found = split.delegation()
    text = str(found)
    assert len(text.splitlines()) <= 30
    for words in (
        "2 of 4 calls delegated in 2 parts",
        "50.0% delegated",
        "2 x cumsum: XNNPACK has nothing like it",
        "what would help: ",
        "borders  4 tensors",
    ):
        assert words in text
    assert "\n" not in repr(found)


def test_the_picture_shows_every_weight_and_the_order(split):
    html = split.delegation()._repr_html_()
    svg = picture(html)
    for words in ("calls", "bytes", "FLOPs", "order", "XnnpackBackend", "own kernels", "50.0%"):
        assert f">{words}</text>" in svg
    assert svg.count("<rect") > 8
    assert "<script" not in html
    assert split.delegation()._repr_html_() == html


def test_the_picture_of_many_parts_stays_small():
    class Deep(nn.Module):
        def forward(self, x):
            for _ in range(300):
                x = (x + 1).cumsum(0)
            return x

    found = etlab.export(Deep(), (X,), partitioner="xnnpack").delegation()
    assert len(found.parts) == 300
    svg = picture(found._repr_html_())
    assert len(svg) < 40_000
    assert svg.count("<path fill") == 2
    assert len(found._repr_html_()) < 100_000


def test_names_are_escaped():
    run = etlab.export(Sum().eval(), (X,), name="<b>&")
    html = run.delegation()._repr_html_()
    assert "&lt;b&gt;&amp;" in html
    assert "<b>&" not in html


def test_why_answers_for_operators_nodes_modules_and_parts(split):
    found = split.delegation()
    assert repr(found.why("linear")) == "linear: 2 calls, 2 delegated"
    assert "taken by XnnpackBackend" in str(found.why("aten.linear.default"))
    assert "nothing like aten.cumsum" in str(found.why(found.rejected[0].node))
    assert "torch.cumsum(x, 1)" in str(found.why(found.rejected[0].node))
    assert [call.operator for call in found.why("first").calls] == ["linear"]
    assert len(found.why("lowered_module_1").calls) == 1
    assert found.why("cumsum").to_dataframe().node.tolist() == [one.node for one in found.rejected]


def test_why_of_an_unknown_name_says_what_comes_near(split):
    with pytest.raises(NotFoundError, match=r"near it: .*linear"):
        split.delegation().why("liner")
    with pytest.raises(NotFoundError, match="its operators: cumsum, linear"):
        split.delegation().why("")


def test_reasons_say_why_and_what_would_help():
    assert split_reason("its size varies: fix it") == ("its size varies", "fix it")
    assert split_reason("nothing like aten::fft") == ("nothing like aten::fft", "")
