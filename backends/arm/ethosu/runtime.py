"""The runtime part: command streams are read here, and run only where the NPU is."""

from collections.abc import Callable
from typing import Any, NoReturn

from etlab.backends.arm.ethosu.backend import GRAPH
from etlab.backends.arm.ethosu.stream import read_stream
from etlab.errors import NotFoundError
from etlab.exir.partition.host_only import host_key
from etlab.runtime import Delegate, NamedData, stands_in
from etlab.runtime.python_calls import RefusedError

_STAND_IN = "tosa"


class EthosUDelegate:
    """One command stream."""

    def __init__(self, target: str) -> None:
        self._target = target

    def execute(self, inputs: list[Any]) -> NoReturn:
        """Refuse.

        Raises:
            RefusedError: always.
        """
        raise RefusedError(
            f"it is made for {self._target}, an NPU that this machine has not: run the program on"
            " the device or on Arm's FVP. TOSA's reference model computes the same integers:"
            " path='device:tosa'"
        )


class EthosURuntime:
    """Makes delegates from command streams.

    Args:
        reference_model: makes delegates from TOSA graphs; they stand in for the NPU.
    """

    def __init__(self, reference_model: Callable[[bytes], Delegate]) -> None:
        self._reference_model = reference_model

    def create(
        self, processed: bytes, compile_specs: dict[str, bytes], named_data: NamedData
    ) -> Delegate:
        """Read a command stream; that it cannot run here shows when it is to.

        Raises:
            InvalidProgramError: it is none, or damaged.
            NotFoundError: the reference model is to stand in, and its graph is not there.
        """
        read_stream(processed)
        if not stands_in(_STAND_IN):
            return EthosUDelegate(
                compile_specs.get("target", b"an Ethos-U").decode(errors="replace")
            )
        try:
            graph = bytes(named_data.get(host_key(GRAPH, processed)))
        except NotFoundError:
            raise NotFoundError(
                "the TOSA graph of this Ethos-U delegate is not there, which is kept beside a"
                " program as '<name>.host.ptd': load it from there, or lower the model again"
            ) from None
        return self._reference_model(graph)
