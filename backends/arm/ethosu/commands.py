"""A command stream's outline: for which NPU it is, and the operations that it starts.

It is made of 32-bit words: "COP1" or "COP2", actions for the driver, and behind the last of them
the NPU's commands. An action has its kind in the low byte. A command has its number in the low ten
bits; bits 14 and 15 say whether a word of its own follows. Most commands set a register, those with
small numbers start something.
"""

import struct
from dataclasses import dataclass

from etlab.errors import InvalidProgramError

_CONFIGURE, _STREAM = 1, 2  # actions
_WORDS_OF_CONFIGURE = 3
_PRODUCTS = {0: "Ethos-U55", 1: "Ethos-U65", 2: "Ethos-U85"}
_FIRST_REGISTER = 0x100
_HAS_WORD = 1
_OPERATIONS = {
    0x00: "stop",
    0x01: "interrupt",
    0x02: "convolution",
    0x03: "depthwise convolution",
    0x05: "pooling",
    0x06: "elementwise",
    0x07: "resize",
    0x10: "transfer",
    0x11: "wait for transfer",
    0x12: "wait for operation",
    0x13: "performance counters",
}


@dataclass(frozen=True, slots=True)
class CommandOutline:
    """What a command stream says.

    Attributes:
        product: the kind of NPU; empty where the stream does not say.
        macs: its multiplications a cycle; 0 likewise.
        operations: what it starts, in order.
        registers: how many registers it sets.
    """

    product: str
    macs: int
    operations: tuple[str, ...]
    registers: int

    @property
    def counts(self) -> dict[str, int]:
        """Operations by kind, the commonest first."""
        found: dict[str, int] = {}
        for name in self.operations:
            found[name] = found.get(name, 0) + 1
        return dict(sorted(found.items(), key=lambda item: (-item[1], item[0])))


def outline(commands: bytes) -> CommandOutline:
    """Read a command stream.

    Raises:
        InvalidProgramError: it is damaged.
    """
    if len(commands) % 4 or len(commands) < 4:
        raise InvalidProgramError(
            f"a command stream is made of words, this has {len(commands)} bytes"
        )
    words = struct.unpack(f"<{len(commands) // 4}I", commands)
    product, macs, place = "", 0, 1
    while place < len(words) and words[place] & 0xFF != _STREAM:
        if words[place] & 0xFF == _CONFIGURE and place + 1 < len(words):
            configuration = words[place + 1]
            product = _PRODUCTS.get(configuration >> 28, f"product {configuration >> 28}")
            macs = 1 << (configuration & 0xF)
            place += _WORDS_OF_CONFIGURE
        else:
            place += 1
    if place >= len(words):
        raise InvalidProgramError("a command stream has no commands; it is damaged")
    count = words[place] >> 16 | (words[place] & 0xFF00) << 8
    if count > len(words) - place - 1:
        raise InvalidProgramError(
            f"a command stream says that it has {count} words, {len(words) - place - 1} follow; it"
            " is damaged"
        )
    operations, registers = _read(words[place + 1 : place + 1 + count])
    return CommandOutline(product, macs, operations, registers)


def _read(words: tuple[int, ...]) -> tuple[tuple[str, ...], int]:
    """What is started, and how many registers are set."""
    operations, registers, place = [], 0, 0
    while place < len(words):
        number, has_word = words[place] & 0x3FF, words[place] >> 14 & 0x3
        if number >= _FIRST_REGISTER or has_word == _HAS_WORD:
            registers += 1
        else:
            operations.append(_OPERATIONS.get(number, f"operation {number}"))
        place += 2 if has_word == _HAS_WORD else 1
    return tuple(operations), registers
