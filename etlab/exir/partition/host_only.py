"""Bytes that belong to a delegate and are for computers only: reports and stand-ins.

They are kept in a file of their own beside the program, which goes to no device.
"""

import hashlib
from pathlib import Path

HOST_TAG = "_host"  # `PreprocessResult.external_tags` of such bytes
_SUFFIX = ".host.ptd"


def host_key(what: str, processed: bytes) -> str:
    """A name for such bytes.

    Args:
        what: they are.
        processed: the delegate's bytes; others have another name.
    """
    return f"host:{what}:{hashlib.sha256(processed).hexdigest()}"


def host_file(program: Path) -> Path:
    """Where they lie beside a program.

    >>> host_file(Path("models/kws.pte")).name
    'kws.host.ptd'
    """
    return program.with_name(program.stem + _SUFFIX)
