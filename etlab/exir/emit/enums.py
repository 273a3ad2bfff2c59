"""Small enumerations of the program schema."""

from enum import IntEnum


class TensorShapeDynamism(IntEnum):
    """Whether a tensor's sizes can change when the program runs."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


class TensorDataLocation(IntEnum):
    """Where a constant's bytes are."""

    SEGMENT = 0
    EXTERNAL = 1


class DataLocation(IntEnum):
    """Where a delegate's bytes are."""

    INLINE = 0
    SEGMENT = 1


class DeviceType(IntEnum):
    """Where a tensor lives."""

    CPU = 0
    CUDA = 1
