"""What sizes a program's inputs may have, per dimension: read from the file, checked at the call.

The entry `etlab.inputs` of a file (the compiler's `exir/emit/input_bounds.py` describes it) is as
little trusted as the rest: it is checked in full before anything is believed.
"""

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

import torch

from etlab.errors import InvalidArgumentError, InvalidProgramError

KEY = "etlab.inputs"
_VERSION = 1
_MOST_BYTES = 1 << 20
_LARGEST = 2**31 - 1
_LONGEST_NAME = 200


@dataclasses.dataclass(frozen=True, slots=True)
class DimensionBound:
    """The sizes that one dimension of an input may have.

    Attributes:
        dimension: its place.
        low: the least size.
        high: the largest size; equal to `low` in a static dimension.
        name: what the export called it; empty when it had no name.
        symbol: dimensions of one symbol move together; empty when it moves alone.
        times: the size is `times` * symbol + `plus`.
        plus: see `times`.
    """

    dimension: int
    low: int
    high: int
    name: str = ""
    symbol: str = ""
    times: int = 1
    plus: int = 0

    def __str__(self) -> str:
        """For example `1 (seq): 2..16`, or `0: 3` of a static one."""
        return f"{self.label}: {self.sizes}"

    @property
    def sizes(self) -> str:
        """For example `2..16`, or `3` of a static dimension."""
        return str(self.low) if self.low == self.high else f"{self.low}..{self.high}"

    @property
    def label(self) -> str:
        """Place and name, for example `1 (seq)`."""
        return f"{self.dimension} ({self.name})" if self.name else str(self.dimension)


@dataclasses.dataclass(frozen=True, slots=True)
class InputBounds:
    """The dimensions of one input that has dynamic ones.

    Attributes:
        input: its place among the flat inputs.
        name: of the model's parameter.
        dimensions: all of them; files of older compilers have those only whose size may change.
    """

    input: int
    name: str
    dimensions: tuple[DimensionBound, ...]

    @property
    def label(self) -> str:
        """Place and name, for example `0 (x)`."""
        return f"{self.input} ({self.name})" if self.name else str(self.input)


def read_bounds(data: bytes | None, method: str) -> tuple[InputBounds, ...]:
    """The bounds of a method; none when the file says nothing of it.

    Args:
        data: the bytes of the entry, None when the file has none.
        method: the method's name.

    Raises:
        InvalidProgramError: the entry is damaged.
    """
    if data is None:
        return ()
    try:
        if len(data) > _MOST_BYTES:
            raise ValueError(f"{len(data)} bytes are too many")
        content = json.loads(data)
        if content["version"] != _VERSION:
            return ()  # of a newer etlab; the upper bounds stand in the program itself
        return tuple(_input(item) for item in content["methods"].get(method, ()))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise InvalidProgramError(
            f"the program's bounds of its inputs ('{KEY}') are damaged: {error}; export it again"
        ) from error


def check_sizes(method: str, bounds: Sequence[InputBounds], inputs: Sequence[Any]) -> None:
    """Refuse inputs whose sizes the program was not made for; other faults are left to the runtime.

    Args:
        method: its name, for errors.
        bounds: of the method.
        inputs: flat inputs, tensors among them.

    Raises:
        InvalidArgumentError: a size is out of its bounds, or differs from one that it must equal.
    """
    symbols: dict[str, tuple[int, str]] = {}
    for bound in bounds:
        tensor = inputs[bound.input] if bound.input < len(inputs) else None
        if not isinstance(tensor, torch.Tensor):
            continue
        for one in bound.dimensions:
            if one.dimension >= tensor.dim():
                continue
            size = tensor.shape[one.dimension]
            where = f"method '{method}': input {bound.label}, dimension {one.label}"
            if not one.low <= size <= one.high:
                way_out = "dynamic_shapes at export make it variable"
                if one.low < one.high:
                    way_out = "the bounds are those of dynamic_shapes at export"
                raise InvalidArgumentError(f"{where}: expected {one.sizes}, got {size}; {way_out}")
            if one.symbol:
                _check_equal(one, size, where, f"input {bound.label}", symbols)


def _check_equal(
    one: DimensionBound, size: int, where: str, owner: str, symbols: dict[str, tuple[int, str]]
) -> None:
    value, rest = divmod(size - one.plus, one.times)
    rule = f"{one.times} * n" + (f" + {one.plus}" if one.plus else "")
    if rest:
        raise InvalidArgumentError(f"{where}: expected a size of the form {rule}, got {size}")
    known = symbols.setdefault(one.symbol, (value, f"dimension {one.label} of {owner}"))
    if known[0] != value:
        raise InvalidArgumentError(
            f"{where}: expected {one.times * known[0] + one.plus} to go with {known[1]}, got {size}"
        )


def _input(item: Any) -> InputBounds:
    dimensions = tuple(_dimension(one) for one in item["dimensions"])
    return InputBounds(_number(item, "input", 0), _name(item, "name"), dimensions)


def _dimension(item: Any) -> DimensionBound:
    bound = DimensionBound(
        dimension=_number(item, "dimension", 0),
        low=_number(item, "min", 0),
        high=_number(item, "max", 0),
        name=_name(item, "name"),
        symbol=_name(item, "symbol"),
        times=_number({"times": 1, **item}, "times", 1),
        plus=_number({"plus": 0, **item}, "plus", -_LARGEST),
    )
    if bound.low > bound.high:
        raise ValueError(f"the bounds {bound.low}..{bound.high} hold no size")
    return bound


def _number(item: dict[str, Any], key: str, least: int) -> int:
    number = item[key]
    if type(number) is not int or not least <= number <= _LARGEST:
        raise ValueError(f"{key} is {str(number)[:40]!r}")
    return number


def _name(item: dict[str, Any], key: str) -> str:
    name = item.get(key, "")
    if not isinstance(name, str) or len(name) > _LONGEST_NAME or not name.isprintable():
        raise ValueError(f"{key} is no name")
    return name
