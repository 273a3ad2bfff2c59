"""What can be chosen by name: partitioners and quantizers, with their parameters."""

import importlib.util
import inspect
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.named import parameters_of

if TYPE_CHECKING:
    import pandas

    from etlab.quantize import Quantizer


@dataclass(frozen=True, slots=True)
class Choice:
    """One thing that can be chosen by name.

    Attributes:
        name: what to pass.
        summary: one line on what it does.
        parameters: keyword to default, as text; `name:keyword=value` sets them.
        missing: the package that it needs and that is not installed; empty where all is there.
        kind: the class, whose constructor takes the parameters; None for none.
    """

    name: str
    summary: str
    parameters: dict[str, str]
    missing: str = ""
    kind: Any = field(default=None, repr=False, compare=False)


_COLUMNS = ["name", "summary", "parameters", "missing"]


class Choices(tuple[Choice, ...]):
    """A tuple of choices that a notebook shows as a table."""

    __slots__ = ()

    @property
    def names(self) -> list[str]:
        """The names, in order."""
        return [choice.name for choice in self]

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a choice."""
        import pandas

        return pandas.DataFrame(self._rows(), columns=_COLUMNS)

    def _rows(self) -> list[list[str]]:
        return [
            [
                choice.name,
                choice.summary,
                ", ".join(f"{name}={value}" for name, value in choice.parameters.items()),
                choice.missing,
            ]
            for choice in self
        ]

    def __repr__(self) -> str:
        """One line of names."""
        return f"Choices({', '.join(self.names)})"

    def __str__(self) -> str:
        """A text table."""
        return display.text_table(_COLUMNS, self._rows())

    def _repr_html_(self) -> str:
        return display.table(_COLUMNS, self._rows())


_NONE = Choice("none", "leave the model as it is", {})


def list_quantizers() -> Choices:
    """The quantizers that `etlab.export(quantizer=...)` takes by name."""
    from etlab.quantize import all_quantizers

    return Choices(
        [
            _NONE,
            *(
                Choice(name, kind.summary, _texts(parameters_of(kind)), "", kind)
                for name, kind in all_quantizers().items()
            ),
        ]
    )


def list_partitioners() -> Choices:
    """The partitioners that `etlab.export(partitioner=...)` takes by name."""
    from etlab.exir.partition.registry import partitioner_classes

    return Choices(
        [
            Choice("none", "run everything with the runtime's own kernels", {}),
            *(
                Choice(
                    name,
                    _first_line(kind),
                    _texts(parameters_of(kind)),
                    _missing(kind.needs, kind.extra),
                    kind,
                )
                for name, kind in partitioner_classes().items()
            ),
        ]
    )


def as_quantizer(given: Any) -> "Quantizer | None":
    """A quantizer from an object, `name`, or `name:keyword=value,…`; None for none.

    Raises:
        NotFoundError: there is no such name.
        InvalidArgumentError: a parameter is unknown, or `given` is no quantizer.
    """
    from etlab.quantize import Quantizer, find_quantizer

    if given is None or given == "none":
        return None
    if isinstance(given, str):
        name, parameters = parse_choice(given)
        return find_quantizer(name, **parameters)
    if isinstance(given, Quantizer):
        return given
    raise InvalidArgumentError(
        f"quantizer: expected a name or an etlab.quantize.Quantizer, got {type(given).__name__}"
    )


def with_float(given: Any, names: Sequence[str]) -> "Quantizer":
    """A quantizer that leaves more modules in float than the given one does.

    Raises:
        NotSupportedError: it does the same to the whole model.
    """
    quantizer = as_quantizer(given)
    if quantizer is None:
        raise NotSupportedError("keep_float: there is no quantizer, so all is in float already")
    options = {name: getattr(quantizer, name) for name in parameters_of(type(quantizer))}
    if "keep_float" not in options:
        raise NotSupportedError(
            f"quantizer '{quantizer.name}' does the same to the whole model: it keeps nothing in"
            " float; int8, int8-dynamic, 8da4w, 8da8w and int4-weights take keep_float"
        )
    more = [names] if isinstance(names, str) else names
    kept = tuple(dict.fromkeys((*options["keep_float"], *more)))
    return type(quantizer)(**{**options, "keep_float": kept})


def as_partitioners(given: Any) -> list[Any]:
    """Partitioners from an object, a name with parameters, or a list of either.

    Raises:
        NotFoundError: there is no such name.
        InvalidArgumentError: a parameter is unknown, or `given` is no partitioner.
    """
    from etlab.exir.partition.registry import find_partitioner

    if given is None or given == "none":
        return []
    if isinstance(given, list | tuple):
        return [one for item in given for one in as_partitioners(item)]
    if isinstance(given, str):
        name, parameters = parse_choice(given)
        return [find_partitioner(name, **parameters)]
    if hasattr(given, "partition"):
        return [given]
    raise InvalidArgumentError(
        f"partitioner: expected a name or a Partitioner, got {type(given).__name__}"
    )


def parse_choice(text: str) -> tuple[str, dict[str, Any]]:
    """Name and parameters of `name:keyword=value,keyword=value`.

    >>> parse_choice("int8-weights:min_elements=64")
    ('int8-weights', {'min_elements': 64})

    Raises:
        InvalidArgumentError: a part is not `keyword=value`.
    """
    name, _, rest = text.partition(":")
    parameters = {}
    for part in filter(None, rest.split(",")):
        match = re.fullmatch(r"\s*(\w+)\s*=\s*(.+?)\s*", part)
        if match is None:
            raise InvalidArgumentError(f"'{text}': expected keyword=value after ':', got '{part}'")
        parameters[match[1]] = _literal(match[2])
    return name.strip(), parameters


def _literal(text: str) -> Any:
    import ast

    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return text


def _texts(parameters: dict[str, Any]) -> dict[str, str]:
    empty = inspect.Parameter.empty
    return {name: "…" if value is empty else repr(value) for name, value in parameters.items()}


def _first_line(kind: Any) -> str:
    lines: Iterable[str] = (inspect.getdoc(kind) or "").splitlines()
    return next(iter(lines), "")


def _missing(module: str | None, extra: str | None) -> str:
    is_there = module is None or importlib.util.find_spec(module) is not None
    return "" if is_there else f"{module}: pip install 'etlab[{extra or module}]'"
