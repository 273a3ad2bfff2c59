"""What a user's class says of a backend."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch._ops import OpOverload

from etlab.custom_backend.stored_graph import Compute
from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.exir.partition.helpers import names_of


@dataclass(frozen=True)
class Definition:
    """A user's class with what it takes and computes.

    Attributes:
        name: to choose the backend by.
        kind: the class.
        operators: names of the operators that it takes; empty where its rule alone decides.
        kernels: operator name to the class's method that computes it.
    """

    name: str
    kind: Any
    operators: frozenset[str]
    kernels: Mapping[str, Callable[..., Any]]

    @classmethod
    def of(cls, name: str, kind: Any) -> "Definition":
        """Read a class.

        Raises:
            InvalidArgumentError: it is no class, takes nothing, or has `preprocess` and no
                `execute`.
        """
        if not inspect.isclass(kind):
            raise InvalidArgumentError(
                f"backend '{name}': expected a class, got {type(kind).__name__}"
            )
        kernels = {
            operator: function
            for _, function in inspect.getmembers(kind, inspect.isfunction)
            for operator in getattr(function, "backend_operators", ())
        }
        given = getattr(kind, "operators", ())
        if isinstance(given, str) or not all(isinstance(item, str) for item in given):
            raise InvalidArgumentError(
                f"backend '{name}': operators must be names, as in ('relu', 'aten.add.Tensor'), "
                f"got {given!r}"
            )
        found = cls(name, kind, frozenset([*given, *kernels]), kernels)
        if not found.operators and not found.has("takes"):
            raise InvalidArgumentError(
                f"backend '{name}': {kind.__name__} takes no operator; name some in `operators`, "
                "mark methods with @etlab.backend_kernel('linear'), or define takes(node)"
            )
        if found.has("preprocess") and not found.has("execute"):
            raise InvalidArgumentError(
                f"backend '{name}': {kind.__name__} has preprocess(), so only its own "
                "execute(processed, inputs) can read what that writes; define it"
            )
        return found

    @property
    def backend_id(self) -> str:
        """The id in programs."""
        return str(self.kind.__name__)

    def has(self, method: str) -> bool:
        """Whether the class defines a method."""
        return callable(getattr(self.kind, method, None))

    def instance(self, compile_specs: Mapping[str, bytes]) -> Any:
        """An object of the class with the parameters that a program stores.

        Raises:
            InvalidProgramError: they are no parameters of the class.
        """
        try:
            parameters = json.loads(compile_specs.get("parameters", b"{}"))
            return self.kind(**parameters)
        except (TypeError, ValueError) as error:
            raise InvalidProgramError(
                f"backend {self.backend_id}: the program stores parameters that the class does not "
                f"take: {error}; lower the model again with the class as it is now"
            ) from error

    def execute(self, instance: Any) -> Callable[..., Any]:
        """`execute(processed, inputs, observer)` of an object of the class."""
        own: Callable[..., Any] = instance.execute
        if len(inspect.signature(own).parameters) > 2:
            return own

        def without_observer(processed: Any, inputs: list[Any], observer: Any) -> Any:
            return own(processed, inputs)

        return without_observer

    def compute(self, instance: Any) -> Compute:
        """What computes one operator: the class's method for it, or PyTorch."""
        known: dict[str, Callable[..., Any]] = {}

        def find(operator: str) -> Callable[..., Any]:
            target = _operator(operator)
            for name in self.kernels:
                if name in names_of(target):
                    return self.kernels[name].__get__(instance)  # type: ignore[no-any-return]
            return target

        def compute(operator: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
            if operator not in known:
                known[operator] = find(operator)
            with torch.no_grad():
                return known[operator](*args, **kwargs)

        return compute


def _operator(name: str) -> OpOverload:
    """An operator by its full name; raises InvalidProgramError when nobody has registered it."""
    found: Any = torch.ops
    for part in name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, OpOverload):
        raise InvalidProgramError(
            f"the delegate calls {name}, which PyTorch does not know here; import the module that "
            "defines it"
        )
    return found
