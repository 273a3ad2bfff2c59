"""The bytes that EthosUBackend stores: a stream of named blocks, checked in full when it is read.

Each block has a header of 32 bytes (its name in 16, the size of its content, whether the content
is only the key of named data, 11 reserved) and a content that is filled up to 16 bytes:

    vela_bin_stream   nothing
    cmd_data          the command stream, with the driver's actions in front
    weight_data       packed weights, scales and biases: read only
    scratch_size      bytes of the memory that inputs, outputs and values between them take (uint32)
    inputs, outputs   a count, and of each tensor six sizes, bytes of an element, offset, region
    vela_end_stream   nothing

All numbers are little-endian.
"""

import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from etlab.errors import InvalidArgumentError, InvalidProgramError

_HEADER = struct.Struct("<16sIB11s")
_COUNT = struct.Struct("<i")
_TENSOR = struct.Struct("<9i")
_SCRATCH = struct.Struct("<I")
_ALIGNMENT = 16
_FIRST, _LAST = "vela_bin_stream", "vela_end_stream"
_NAMES = (_FIRST, "cmd_data", "weight_data", "scratch_size", "inputs", "outputs", _LAST)
_MAY_BE_OUTSIDE = ("cmd_data", "weight_data")
_KEY_SIZE = 64
_MAGICS = (b"COP1", b"COP2")
_RANK = 6


@dataclass(frozen=True, slots=True)
class StreamTensor:
    """An input or output of the NPU.

    Attributes:
        shape: six sizes, as it lies in memory.
        element_size: bytes of an element.
        offset: of its first byte in its region.
        region: the NPU's number of the memory that it lies in.
    """

    shape: tuple[int, ...]
    element_size: int
    offset: int
    region: int

    @property
    def nbytes(self) -> int:
        """Bytes that it takes."""
        count = self.element_size
        for size in self.shape:
            count *= size
        return count


@dataclass(frozen=True, slots=True)
class VelaStream:
    """What the device needs for one delegate.

    Attributes:
        commands: the command stream, with the driver's actions in front; empty where it lies
            outside.
        weights: packed weights, scales and biases; likewise.
        scratch: bytes of memory that one run takes.
        inputs: tensors that are copied in.
        outputs: tensors that are copied out.
        outside: keys of the named data that hold `cmd_data` or `weight_data` instead.
    """

    commands: bytes
    weights: bytes
    scratch: int
    inputs: tuple[StreamTensor, ...]
    outputs: tuple[StreamTensor, ...]
    outside: Mapping[str, str] = field(default_factory=dict)


def write_stream(stream: VelaStream) -> bytes:
    """The bytes of a stream.

    Raises:
        InvalidArgumentError: a number does not fit its field.
    """
    contents = {
        _FIRST: b"",
        "cmd_data": stream.commands,
        "weight_data": stream.weights,
        "scratch_size": _packed(_SCRATCH, stream.scratch),
        "inputs": _written(stream.inputs),
        "outputs": _written(stream.outputs),
        _LAST: b"",
    }
    made = bytearray()
    for name in _NAMES:
        key = stream.outside.get(name)
        content = contents[name] if key is None else key.encode("ascii")
        made += _HEADER.pack(name.encode("ascii"), len(content), key is not None, bytes(11))
        made += content + bytes(_padded(len(content)) - len(content))
    return bytes(made)


def read_stream(data: bytes | memoryview) -> VelaStream:
    """Read a stream.

    Raises:
        InvalidProgramError: it is none, or damaged.
    """
    view = memoryview(data).cast("B")
    blocks, outside = _blocks(view)
    if missing := [name for name in _NAMES if name not in blocks]:
        raise _damaged(f"it has no block '{missing[0]}'")
    commands = blocks["cmd_data"]
    if "cmd_data" not in outside and bytes(commands[:4]) not in _MAGICS:
        raise _damaged(
            f"its commands begin with {bytes(commands[:4])!r}, expected one of {list(_MAGICS)}"
        )
    if len(blocks["scratch_size"]) != _SCRATCH.size:
        raise _damaged(f"the size of its memory takes {len(blocks['scratch_size'])} bytes, not 4")
    inputs, outputs = _tensors(blocks, "inputs"), _tensors(blocks, "outputs")
    (scratch,) = _SCRATCH.unpack(blocks["scratch_size"])
    return VelaStream(
        b"" if "cmd_data" in outside else bytes(commands),
        b"" if "weight_data" in outside else bytes(blocks["weight_data"]),
        scratch,
        inputs,
        outputs,
        outside,
    )


def _blocks(view: memoryview) -> tuple[dict[str, memoryview], dict[str, str]]:
    """The contents by name, and the keys of those that lie outside."""
    blocks: dict[str, memoryview] = {}
    outside: dict[str, str] = {}
    place = 0
    while _LAST not in blocks:
        if place + _HEADER.size > len(view):
            raise _damaged("it is cut short" if blocks else "it does not begin with a header")
        raw, size, is_outside, _ = _HEADER.unpack_from(view, place)
        name = raw.split(b"\0", 1)[0].decode("ascii", errors="replace")
        if name not in _NAMES or name in blocks or (name == _FIRST) != (place == 0):
            raise _damaged(f"a block at byte {place} is called {name!r}")
        place += _HEADER.size
        if size > len(view) - place or _padded(size) > len(view) - place:
            raise _damaged(
                f"block '{name}' has {size} bytes, but only {len(view) - place} are there"
            )
        blocks[name] = view[place : place + size]
        if is_outside:
            outside[name] = _key(name, blocks[name])
        place += _padded(size)
    if place != len(view):
        raise _damaged(f"{len(view) - place} bytes follow its end")
    return blocks, outside


def _key(name: str, content: memoryview) -> str:
    key = bytes(content)
    if name not in _MAY_BE_OUTSIDE or len(key) != _KEY_SIZE or not key.isalnum():
        raise _damaged(f"block '{name}' is marked as lying outside, under {key[:80]!r}")
    return key.decode("ascii")


def _tensors(blocks: Mapping[str, memoryview], name: str) -> tuple[StreamTensor, ...]:
    content = blocks[name]
    count = _COUNT.unpack_from(content)[0] if len(content) >= _COUNT.size else -1
    if count < 0 or len(content) != _COUNT.size + count * _TENSOR.size:
        raise _damaged(f"block '{name}' has {len(content)} bytes for {count} tensors")
    found = []
    for index in range(count):
        numbers = _TENSOR.unpack_from(content, _COUNT.size + index * _TENSOR.size)
        shape, (element, offset, region) = numbers[:_RANK], numbers[_RANK:]
        if min(shape) < 0 or element < 1:
            raise _damaged(f"tensor {index} of '{name}' has shape {shape} of {element} bytes each")
        found.append(StreamTensor(shape, element, offset, region))
    return tuple(found)


def _written(tensors: Sequence[StreamTensor]) -> bytes:
    made = _packed(_COUNT, len(tensors))
    for tensor in tensors:
        if len(tensor.shape) != _RANK:
            raise InvalidArgumentError(f"expected {_RANK} sizes, got {list(tensor.shape)}")
        made += _packed(_TENSOR, *tensor.shape, tensor.element_size, tensor.offset, tensor.region)
    return made


def _packed(form: struct.Struct, *numbers: int) -> bytes:
    try:
        return form.pack(*numbers)
    except struct.error as error:
        raise InvalidArgumentError(
            f"numbers {list(numbers)} of an Ethos-U stream do not fit 32 bits: {error}"
        ) from None


def _padded(size: int) -> int:
    """Filled up to 16 bytes, as the device's reader takes them: an empty content takes none."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def _damaged(why: str) -> InvalidProgramError:
    return InvalidProgramError(
        f"this is no stream of Vela that EthosUBackend reads: {why}. It was made by another"
        " version, or is damaged: lower the model again"
    )
