"""TOSA graphs as bytes: read, written, shown, cut, and damaged."""

import random

import pytest
import torch
from torch import nn
from tosa_checks import delegates, lowered_run, operators, waves

from etlab.backends.arm.arithmetic import evaluate
from etlab.backends.arm.format.dump import dump_graph
from etlab.backends.arm.format.file import read_graph, write_graph
from etlab.backends.arm.format.inside import GraphInside
from etlab.backends.arm.format.operators import KINDS, NAMES, name_of
from etlab.backends.arm.format.schema import Block, Graph, Operator, Region, TensorEntry
from etlab.backends.arm.tosa import TOSABackend
from etlab.errors import EtlabError, InvalidArgumentError, InvalidProgramError


@pytest.fixture(scope="module")
def data():
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU6(), nn.Conv2d(3, 2, 1), nn.Flatten())
    (delegate,) = delegates(lowered_run(module, waves(1, 2, 5, 4)))
    return delegate.processed_bytes


def test_what_is_read_is_written_to_the_byte(data):
    assert write_graph(read_graph(data)) == data


def test_every_operator_has_a_name_of_its_own():
    assert len(set(NAMES)) == len(NAMES) == len(KINDS) == len(set(KINDS))
    assert [name_of(kind()) for kind in KINDS] == list(NAMES)


def test_text_names_operators_values_and_attributes(data):
    text = TOSABackend.describe(data)
    assert text.splitlines()[0] == "tosa 1.0.0"
    assert "input %quantize_per_tensor_default: int8[1, 2, 5, 4]" in text
    assert "stride=[1, 1]" in text
    assert "constant [0] 1 bytes" in text
    assert "sizes [1, 12]" in text
    assert dump_graph(read_graph(data)) == text


def test_more_outputs_do_not_change_those_there_are(data):
    inside = GraphInside.of(data)
    inner = [n for n in inside.values if n not in inside.inputs and n not in inside.outputs]
    x = torch.randint(-128, 128, (1, 2, 5, 4), dtype=torch.int8)
    before = evaluate(read_graph(data), [x])
    tapped = read_graph(inside.tapped(inner))
    after = evaluate(tapped, [x])
    assert len(tapped.main.outputs) == len(inner) + 1
    assert all(torch.equal(after[name], before[name]) for name in tapped.main.outputs)
    with pytest.raises(InvalidArgumentError, match="cross the delegate's border already"):
        inside.tapped(list(inside.outputs))


def test_an_excerpt_computes_its_part_alone(data):
    inside = GraphInside.of(data)
    convolutions = [node for node in inside.nodes if node.kind == "CONV2D"]
    (source,), (result,) = convolutions[1].inputs, convolutions[1].outputs
    part = inside.excerpt([source], [result])
    assert operators(part) == ["CONV2D"]
    x = torch.randint(-128, 128, (1, 2, 5, 4), dtype=torch.int8)
    whole = evaluate(read_graph(data), [x])
    names = {number: name for name, number in inside.numbers.items()}
    alone = evaluate(read_graph(part), [whole[names[source]]])
    assert torch.equal(alone[names[result]], whole[names[result]])
    with pytest.raises(InvalidArgumentError, match="needs quantize_per_tensor_default as input"):
        inside.excerpt([source], [convolutions[0].outputs[0]])


def test_bytes_of_another_format_are_refused_by_name():
    with pytest.raises(InvalidProgramError, match="identifier TOSA, this one b'XH00'"):
        read_graph(b"\0\0\0\0XH00" + bytes(40))
    with pytest.raises(InvalidProgramError):
        read_graph(b"")


@pytest.mark.parametrize(
    ("block", "message"),
    [
        (Block("main", (), (), ("x",), ()), "names 'x', which it lacks"),
        (Block("main", (), (TensorEntry("x"), TensorEntry("x"))), "two values of one name"),
        (Block("main", (Operator(3, KINDS[0]()),), ()), "operator 3 .* the attributes of 1"),
    ],
)
def test_graphs_that_hang_together_badly_are_refused(block, message):
    with pytest.raises(InvalidProgramError, match=message):
        read_graph(write_graph(Graph(read_version(), (Region("main", (block,)),))))


def read_version():
    from etlab.backends.arm.builder import VERSION

    return VERSION


def test_damaged_bytes_are_read_or_refused_and_never_worse(data):
    generator = random.Random(0)
    for _ in range(300):
        damaged = bytearray(data)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        if generator.random() < 0.3:
            del damaged[generator.randrange(len(damaged)) :]
        try:
            graph = read_graph(bytes(damaged))
            dump_graph(graph)
            list(GraphInside(graph).nodes)
        except EtlabError:
            continue
