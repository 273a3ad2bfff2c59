"""How vocabularies write bytes as text."""

import functools
import re

_PRINTABLE = (*range(33, 127), *range(161, 173), *range(174, 256))
_BYTE = re.compile("<0x([0-9A-F]{2})>")
_SPACE = "▁"


@functools.cache
def _letters() -> dict[str, int]:
    """The alphabet of byte-level vocabularies: a printable letter for every byte."""
    others = [byte for byte in range(256) if byte not in _PRINTABLE]
    return {
        **{chr(byte): byte for byte in _PRINTABLE},
        **{chr(256 + place): byte for place, byte in enumerate(others)},
    }


def bytes_of_alphabet(name: str) -> bytes:
    """What a token of a byte-level vocabulary says.

    >>> bytes_of_alphabet("Ġtoken")
    b' token'
    """
    letters = _letters()
    if all(letter in letters for letter in name):
        return bytes(letters[letter] for letter in name)
    return name.encode()


def bytes_of_piece(name: str) -> bytes:
    r"""What a SentencePiece token says.

    >>> bytes_of_piece("▁token"), bytes_of_piece("<0x0A>")
    (b' token', b'\n')
    """
    if found := _BYTE.fullmatch(name):
        return bytes([int(found[1], 16)])
    return name.replace(_SPACE, " ").encode()
