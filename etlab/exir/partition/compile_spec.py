"""What a partitioner tells a backend."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class CompileSpec:
    """One option of a backend, handed to `preprocess` and stored in the program.

    Attributes:
        key: name of the option.
        value: its bytes; what they mean is between the partitioner and the backend.
    """

    key: str
    value: bytes
