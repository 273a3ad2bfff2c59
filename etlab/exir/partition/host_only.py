"""Bytes that belong to a delegate and are for computers only: reports and stand-ins.

They are kept in a file of their own beside the program, which goes to no device.
"""

import hashlib
from pathlib import Path

HOST_TAG = "_host"  # `PreprocessResult.external_tags` of such bytes
ESTIMATE = "estimate"
_PREFIX = "host:"
_SUFFIX = ".host.ptd"


def host_key(what: str, processed: bytes) -> str:
    """A name for such bytes.

    Args:
        what: "estimate", or the name of the stand-in that computes the delegate with them.
        processed: the delegate's bytes; others have another name.
    """
    return f"{_PREFIX}{what}:{hashlib.sha256(processed).hexdigest()}"


def stand_in_of(key: str) -> str:
    """The stand-in that bytes of this name are for; empty where there is none.

    >>> stand_in_of(host_key("tosa", b"")), stand_in_of(host_key(ESTIMATE, b""))
    ('tosa', '')
    """
    what = key.removeprefix(_PREFIX).split(":")[0] if key.startswith(_PREFIX) else ""
    return "" if what == ESTIMATE else what


def host_file(program: Path) -> Path:
    """Where they lie beside a program.

    >>> host_file(Path("models/kws.pte")).name
    'kws.host.ptd'
    """
    return program.with_name(program.stem + _SUFFIX)
