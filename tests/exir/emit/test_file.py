import io

import pytest

from etlab.errors import InvalidProgramError
from etlab.exir.emit import schema
from etlab.exir.emit.file import Segment, assemble, read_program


def _assemble(*segments: Segment, alignment: int = 128) -> bytes:
    image, _ = assemble(schema.Program(execution_plan=()), segments, alignment=alignment)
    data = image.to_bytes()
    assert len(data) == image.nbytes
    return data


def test_segments_are_read_back() -> None:
    data = _assemble(
        Segment(0, []), Segment(20, [(0, b"abc"), (16, b"wxyz")]), Segment(2, [(0, b"hi")])
    )
    found = [bytes(segment) for segment in read_program(data).segments]
    assert found == [b"", b"abc" + bytes(13) + b"wxyz", b"hi"]


@pytest.mark.parametrize("alignment", [16, 128, 4096])
def test_segments_start_at_multiples_of_the_alignment(alignment: int) -> None:
    data = _assemble(Segment(3, [(0, b"abc")]), Segment(5, [(0, b"12345")]), alignment=alignment)
    assert data.index(b"abc") % alignment == 0
    assert data.index(b"12345") % alignment == 0


def test_a_segments_own_alignment_counts() -> None:
    data = _assemble(Segment(1, [(0, b"x")]), Segment(5, [(0, b"12345")], 1024), alignment=16)
    assert data.index(b"12345") % 1024 == 0


def test_the_header_says_what_the_file_holds() -> None:
    data = _assemble(Segment(3, [(0, b"abc")]))
    assert data[4:12] == b"ET12eh00"
    assert int.from_bytes(data[12:16], "little") == 32
    base, size = (int.from_bytes(data[at : at + 8], "little") for at in (24, 32))
    assert data[base : base + size] == b"abc"
    assert base + size == len(data)


def test_without_segment_bytes_there_is_no_header() -> None:
    data = _assemble(Segment(0, []))
    assert b"eh00" not in data
    assert read_program(data).segments == (b"",)


def test_writing_to_a_file_gives_the_same_bytes() -> None:
    image, _ = assemble(schema.Program(), [Segment(3, [(0, b"abc")])])
    file = io.BytesIO()
    image.write(file)
    assert file.getvalue() == image.to_bytes()


def test_every_truncation_is_refused() -> None:
    data = _assemble(Segment(3, [(0, b"abc")]), Segment(200, [(0, bytes(200))]))
    for length in range(len(data)):
        with pytest.raises(InvalidProgramError):
            read_program(data[:length])


def test_a_newer_schema_is_refused_in_words() -> None:
    image, _ = assemble(schema.Program(version=3), [])
    with pytest.raises(InvalidProgramError, match="version 3, newer than 0"):
        read_program(image.to_bytes())


def test_another_file_is_refused_in_words() -> None:
    with pytest.raises(InvalidProgramError, match=r"no \.pte program"):
        read_program(b"\x89PNG\r\n\x1a\n" + bytes(100))


def test_a_segment_outside_of_the_file_is_refused() -> None:
    data = bytearray(_assemble(Segment(3, [(0, b"abc")])))
    data[32:40] = (2).to_bytes(8, "little")
    with pytest.raises(InvalidProgramError, match="segment 0"):
        read_program(bytes(data))
