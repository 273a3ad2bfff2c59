"""A TOSA graph's content as dataclasses, fields in the order of the schema (TOSA 1.0)."""

from dataclasses import dataclass
from typing import Annotated

from etlab.backends.arm.format.operators import NUMBERS, Attributes, DType, ElementType
from etlab.exir.emit.fields import Boolean, Int32, Int32s, Items, UInt32

_Data = Annotated[bytes, Items("B", 8)]


@dataclass(frozen=True, slots=True)
class Version:
    """Of the specification."""

    major: Int32 = -1
    minor: Int32 = -1
    patch: Int32 = -1
    draft: Boolean = True


@dataclass(frozen=True, slots=True)
class TensorEntry:
    """A value; operators name it. Constants have their bytes in `data`."""

    name: str | None = None
    shape: Int32s | None = None
    type: ElementType = DType.UNKNOWN
    data: _Data | None = None
    variable: Boolean = False
    is_unranked: Boolean = False
    variable_name: str | None = None


@dataclass(frozen=True, slots=True)
class ShapeEntry:
    """A list of sizes as a value: `rank` numbers of 64 bits."""

    name: str | None = None
    rank: UInt32 = 0
    data: _Data | None = None


@dataclass(frozen=True, slots=True)
class Location:
    """Where an operator comes from."""

    text: str | None = None


@dataclass(frozen=True, slots=True)
class Operator:
    """A call: `op` is the number of the class of `attribute`."""

    op: UInt32 = 0
    attribute: Attributes | None = None
    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    location: Location | None = None

    @classmethod
    def of(cls, attribute: object, inputs: tuple[str, ...], outputs: tuple[str, ...]) -> "Operator":
        """A call with the number that belongs to its attributes."""
        return cls(NUMBERS[type(attribute)], attribute, inputs, outputs)


@dataclass(frozen=True, slots=True)
class Block:
    """Operators in the order of their execution."""

    name: str | None = None
    operators: tuple[Operator, ...] | None = None
    tensors: tuple[TensorEntry, ...] | None = None
    inputs: tuple[str, ...] | None = None
    outputs: tuple[str, ...] | None = None
    shapes: tuple[ShapeEntry, ...] | None = None


@dataclass(frozen=True, slots=True)
class Region:
    """A graph, or a body of control flow."""

    name: str | None = None
    blocks: tuple[Block, ...] | None = None


@dataclass(frozen=True, slots=True)
class Graph:
    """A file's root."""

    version: Version
    regions: tuple[Region, ...] | None = None

    @property
    def main(self) -> Block:
        """The block that runs first."""
        blocks = self.regions[0].blocks if self.regions else None
        assert blocks, "checked when read"
        return blocks[0]
