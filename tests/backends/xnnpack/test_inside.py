import pytest
import torch
from numerics.quantized_models import residual_run, samples

from etlab.backends.xnnpack import XnnpackBackend
from etlab.backends.xnnpack.payload.file import read_payload
from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.numerics.parts import ProgramParts
from etlab.numerics.places import Place
from etlab.numerics.regions import Region
from etlab.runtime import Runtime


@pytest.fixture(scope="module")
def parts():
    return ProgramParts(residual_run(is_quantized=True).file.content)


@pytest.fixture(scope="module")
def inside(parts):
    return parts.inside(0)


def test_nodes_stand_in_order_and_read_what_was_written(inside):
    known = set(inside.inputs)
    for node in inside.nodes:
        assert set(node.inputs) <= known
        known |= set(node.outputs)
    assert set(inside.outputs) <= known
    assert "DepthwiseConv2d" in [node.kind for node in inside.nodes]


def test_more_outputs_change_no_results(parts, inside):
    numbers = [n for node in inside.nodes for n in node.outputs if n not in inside.outputs]
    places = [Place(0, number, is_inside=True) for number in numbers]
    sample = list(samples(1)[0])
    plain, tapped = (
        Runtime.get().load_program(data).load_method("forward").execute(sample)
        for data in (parts.tapped([]), parts.tapped(places))
    )
    assert torch.equal(plain[0], tapped[0])
    assert len(tapped) == 1 + len(places)
    for number, value in zip(numbers, tapped[1:], strict=True):
        assert tuple(value.shape) == inside.values[number].sizes
        assert value.dtype == inside.values[number].dtype


def test_an_excerpt_computes_what_the_whole_does(parts, inside):
    node = next(node for node in inside.nodes if node.kind == "DepthwiseConv2d")
    places = [Place(0, number, is_inside=True) for number in (*node.inputs, *node.outputs)]
    sample = list(samples(1)[0])
    whole = Runtime.get().load_program(parts.tapped(places)).load_method("forward")
    *inputs, expected = whole.execute(sample)[1:]
    region = Region(places[-1], given={0: [place.value for place in places[:-1]]})
    excerpt = parts.excerpts({"one": region})
    method = Runtime.get().load_program(excerpt).load_method("one")
    assert torch.equal(method.execute(inputs)[0], expected)


def test_an_excerpt_that_lacks_an_input_is_refused(inside):
    node = next(node for node in inside.nodes if node.kind == "Add")
    with pytest.raises(InvalidArgumentError, match="needs the values"):
        inside.excerpt([], node.outputs)


def test_values_that_cross_the_border_are_not_tapped(inside):
    with pytest.raises(InvalidArgumentError, match="border already"):
        inside.tapped([*inside.outputs])


def test_damaged_payloads_are_refused():
    with pytest.raises(InvalidProgramError):
        XnnpackBackend.look_inside(b"XH00 nothing")


def test_excerpts_hold_only_what_they_need(parts, inside):
    node = next(node for node in inside.nodes if node.kind == "DepthwiseConv2d")
    graph = read_payload(inside.excerpt(node.inputs, node.outputs)).graph
    assert len(graph.xnodes) == 1
    assert len(graph.xvalues) == 4  # input, filter, bias, output
    assert graph.num_externs == 2
