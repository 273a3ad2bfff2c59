"""What a quantizer is."""

import contextlib
import logging
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import torch
from torch.export import ExportedProgram

from etlab.errors import NotSupportedError
from etlab.named import parameters_of


@dataclass(frozen=True, slots=True)
class QuantizeRequest:
    """What a quantizer gets.

    Attributes:
        model: the user's module; must not be changed.
        exported: the same model after `torch.export`.
        example_inputs: positional arguments of one call.
        calibration: samples, each a tuple of arguments; at least one.
        dynamic_shapes: as `torch.export` takes them.
    """

    model: torch.nn.Module
    exported: ExportedProgram
    example_inputs: tuple[Any, ...]
    calibration: Iterable[tuple[Any, ...]]
    dynamic_shapes: Any = None


class Switched(Protocol):
    """A model whose layers can be quantized one by one, in PyTorch.

    Attributes:
        layers: names of the modules that can, and how many elements their weights have.
    """

    @property
    def layers(self) -> Mapping[str, int]:
        """Names and sizes."""

    def quantized(
        self, layers: Collection[str], *, others: bool
    ) -> AbstractContextManager[Callable[..., Any]]:
        """The model with these layers quantized, and operators that are no layers if `others`."""


class Quantizer:
    """A way to make a model smaller or faster at the price of accuracy.

    Subclasses are found by their presence in `etlab/quantize/`; their constructor's keyword
    arguments are the parameters that users see.

    Attributes:
        name: what users choose it by.
        summary: one line on what it does.
        needs_data: whether results depend on the calibration samples.
    """

    name: ClassVar[str]
    summary: ClassVar[str]
    needs_data: ClassVar[bool] = False

    def quantize(self, request: QuantizeRequest) -> ExportedProgram:
        """The quantized model as an exported program, in operators that the runtime has."""
        raise NotImplementedError

    def switched(self, request: QuantizeRequest) -> Switched:
        """The model with a switch for every layer; quantizers that have it take `keep_float`.

        Raises:
            NotSupportedError: the quantizer does the same to the whole model.
        """
        raise NotSupportedError(
            f"quantizer '{self.name}' does the same to the whole model: its layers cannot be"
            " weighed against each other; take int8, int8-dynamic, 8da4w, 8da8w or int4-weights"
        )

    def __repr__(self) -> str:
        """Name and parameters, as `etlab.export(quantizer=...)` takes them in code."""
        values = ", ".join(f"{name}={getattr(self, name)!r}" for name in parameters_of(type(self)))
        return f"{type(self).__name__}({values})"


@contextlib.contextmanager
def quiet_imports() -> Iterator[None]:
    """Import inside this block without log lines: torchao names each GPU library it cannot load."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
