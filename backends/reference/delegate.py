"""The runtime part of the reference backend: a program inside the program."""

from typing import Any

import torch

from etlab.backends.reference.partitioner import BACKEND_ID
from etlab.errors import InvalidProgramError
from etlab.runtime import Method, NamedData, Runtime, register_backend


class ReferenceDelegate:
    """One delegated subgraph: the method `forward` of the program that `preprocess` wrote."""

    def __init__(self, method: Method) -> None:
        self._method = method

    def execute(self, inputs: list[Any]) -> list[torch.Tensor]:
        """Run it."""
        return list(self._method.execute(inputs))


class ReferenceRuntime:
    """Makes delegates from processed bytes."""

    def create(
        self, processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData
    ) -> ReferenceDelegate:
        """Load the inner program.

        Raises:
            InvalidProgramError: the payload is in no format that this backend writes.
        """
        payload_format = compile_specs.get("format")
        if payload_format != b"pte":
            raise InvalidProgramError(
                f"{BACKEND_ID}: the payload is in format {payload_format!r}, only b'pte' is known; "
                "lower the model again with this version of etlab"
            )
        method = Runtime.get().load_program(processed).load_method("forward")
        assert method is not None, "preprocess names the method forward"
        return ReferenceDelegate(method)


register_backend(BACKEND_ID, ReferenceRuntime())
