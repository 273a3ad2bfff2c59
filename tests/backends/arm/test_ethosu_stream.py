"""The bytes of an Ethos-U delegate: written, read, and refused when they are damaged."""

import dataclasses
import struct

import pytest

from etlab.backends.arm.ethosu.commands import outline
from etlab.backends.arm.ethosu.dump import dump_stream
from etlab.backends.arm.ethosu.stream import StreamTensor, VelaStream, read_stream, write_stream
from etlab.errors import InvalidArgumentError, InvalidProgramError

# A driver's header for an Ethos-U55-128, then: a register of its own word, another, an operation.
WORDS = (0x31504F43, 0x00100001, 0x1807, 0x10066001, 5, 5, 5, 0x00040002, 0x4030, 7, 0x10131, 2)
STREAM = VelaStream(
    struct.pack(f"<{len(WORDS)}I", *WORDS),
    b"weights",
    4096,
    (StreamTensor((1, 1, 1, 5, 7, 3), 1, 16, 1),),
    (StreamTensor((1, 1, 1, 1, 1, 9), 2, 0, 1), StreamTensor((1, 1, 1, 1, 1, 1), 4, -1, 1)),
)
DATA = write_stream(STREAM)


def block(name):
    """Where the header of a block begins."""
    return DATA.index(name.encode() + bytes(16 - len(name)))


def changed(place, data):
    return DATA[:place] + data + DATA[place + len(data) :]


def test_a_stream_is_read_as_it_was_written():
    assert read_stream(DATA) == STREAM
    assert len(DATA) % 16 == 0
    assert DATA.startswith(b"vela_bin_stream\0" + bytes(16))
    assert DATA.endswith(b"vela_end_stream\0" + bytes(16))


def test_blocks_may_lie_outside_under_a_key():
    key = "0123456789abcdef" * 4
    outside = dataclasses.replace(STREAM, weights=b"", outside={"weight_data": key})
    data = write_stream(outside)
    assert read_stream(data) == outside
    place = data.index(b"weight_data")
    assert struct.unpack_from("<16sIB", data, place)[1:] == (64, 1)
    assert f"outside, under {key}" in dump_stream(outside)


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", "header"),
        (b"PK" + bytes(62), "is called 'PK'"),
        (DATA[:-32], "cut short"),
        (DATA + bytes(16), "16 bytes follow its end"),
        (changed(block("weight_data"), b"cmd_data\0\0\0"), "is called 'cmd_data'"),
        (changed(block("weight_data"), b"vela_bin_stream"), "is called 'vela_bin_stream'"),
        (changed(block("cmd_data") + 16, struct.pack("<I", 2**32 - 1)), "4294967295 bytes"),
        (changed(block("cmd_data") + 32, b"COP3"), "begin with b'COP3'"),
        (changed(block("scratch_size") + 16, struct.pack("<I", 5)), "takes 5 bytes"),
        (changed(block("inputs") + 32, struct.pack("<i", 2)), "40 bytes for 2 tensors"),
        (changed(block("inputs") + 32, struct.pack("<i", -1)), "40 bytes for -1 tensors"),
        (changed(block("inputs") + 36, struct.pack("<i", -4)), r"shape \(-4, 1"),
        (changed(block("inputs") + 20, b"\1"), "marked as lying outside"),
        (changed(block("weight_data") + 20, b"\1"), "marked as lying outside"),
    ],
)
def test_damaged_streams_are_refused_in_words(data, reason):
    with pytest.raises(InvalidProgramError, match=reason):
        read_stream(data)


def test_any_damaged_byte_is_read_or_refused():
    for place in range(len(DATA)):
        try:
            dump_stream(read_stream(changed(place, bytes([DATA[place] ^ 0x55]))))
        except InvalidProgramError as error:
            assert "damaged" in str(error) or "words" in str(error)  # noqa: PT017 - either way


def test_numbers_that_do_not_fit_are_refused():
    with pytest.raises(InvalidArgumentError, match="do not fit 32 bits"):
        write_stream(dataclasses.replace(STREAM, scratch=2**32))


def test_commands_are_counted_by_what_they_start():
    found = outline(STREAM.commands)
    assert (found.product, found.macs) == ("Ethos-U55", 128)
    assert found.counts == {"convolution": 1}
    assert found.registers == 2
    text = dump_stream(STREAM)
    assert "Ethos-U55-128" in text
    assert "1 x convolution" in text
    assert "5 x 7 x 3 of 8 bits at byte 16 of region 1" in text


@pytest.mark.parametrize("commands", [b"COP1", b"COP1\1", STREAM.commands[:-4]])
def test_damaged_commands_are_refused_in_words(commands):
    with pytest.raises(InvalidProgramError, match="command stream"):
        outline(commands)
