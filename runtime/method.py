"""A method that is ready to run."""

import contextlib
import functools
import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch

from etlab.errors import InvalidArgumentError
from etlab.runtime import _native
from etlab.runtime.bounds import InputBounds, check_sizes
from etlab.runtime.memory import MethodMemory, memory_of
from etlab.runtime.metadata import MethodMeta
from etlab.runtime.nesting import flatten_inputs, parse_nesting, unflatten_outputs
from etlab.runtime.overlaps import check_apart
from etlab.runtime.python_calls import stop_python
from etlab.runtime.tensors import (
    allocate_tensor,
    as_tensor,
    check_writable,
    describe_tensor,
    is_plain,
    write_back,
)
from etlab.runtime.trace import EventTrace


class Method:
    """A method of a loaded program; keeps the program alive.

    Threads: runs release the GIL. Several methods, of one program or many, run at once in several
    threads; runs of one method wait for each other, and so do those of methods that share state.
    The program object may go at any time: what it loaded stays as long as a method needs it.

    Stopping: a run in the main thread ends with KeyboardInterrupt when the user stops the notebook
    cell, and any run ends with InterruptedExecutionError after `interrupt()`, at the next
    instruction or within a long kernel. Without a run, `interrupt()` does nothing.

    Faults: a run that fails, whether an operator refuses, memory cannot be had or it was stopped,
    raises an error that says at which instruction. Inputs and outputs of the caller are then
    untouched, and the method can run again. State (mutable buffers) is what the instructions before
    the failing one have made of it: programs of this compiler write state at their end, so that it
    is still the one before the run; `reset_state()` gives it its first value.
    """

    def __init__(
        self,
        native: _native.Method,
        metadata: MethodMeta,
        bounds: tuple[InputBounds, ...] = (),
    ) -> None:
        """Wrap a loaded native method; use `Program.load_method`."""
        self._native = native
        self._metadata = metadata
        self._bounds = bounds
        self._updated = [
            index for index in range(metadata.num_inputs()) if native.updates_input(index)
        ]
        self._trace: EventTrace | None = None
        self._threads: set[int] = set()  # that execute or wait for their turn

    @property
    def name(self) -> str:
        """The name of the method."""
        return self._metadata.name()

    @property
    def metadata(self) -> MethodMeta:
        """Inputs, outputs and needs, as the file has them."""
        return self._metadata

    def execute(self, inputs: Sequence[Any]) -> list[Any]:
        """Run on flat inputs.

        Args:
            inputs: one value an input. Tensors are torch tensors, numpy arrays or anything with
                `__dlpack__`, in any layout: read in place when the layout is the program's, else
                converted. Numbers must be those that the program was exported with. A tensor that
                the model updates in place is updated when the run has ended well, whatever its
                layout; one that cannot be written is refused before anything runs.

        Returns:
            The flat outputs; tensors have memory of their own.

        Raises:
            InvalidArgumentError: count, dtype or shape of the inputs, a size out of the bounds of
                the export, or an operator refuses.
            InterruptedExecutionError: `interrupt()` was called.
            EtlabError: an operator or backend failed; the message says which instruction.
        """
        if isinstance(inputs, torch.Tensor | np.ndarray) or not isinstance(inputs, Iterable):
            kind = type(inputs).__name__
            raise InvalidArgumentError(
                f"method '{self.name}': execute() takes a list of inputs, got one {kind};"
                " write execute([value])"
            )
        if isinstance(inputs, dict):
            raise InvalidArgumentError(
                f"method '{self.name}': execute() takes a flat list of inputs, got a dict; call the"
                " method itself with nested inputs"
            )
        given = list(inputs)
        values = list(given)
        for index, value in enumerate(values):
            if not is_plain(value) and not isinstance(value, _NUMBERS):
                values[index] = as_tensor(value, f"method '{self.name}', input {index}")
        check_sizes(self.name, self._bounds, values)
        for index in self._updated:
            if index < len(given):
                check_writable(given[index], f"method '{self.name}', input {index}")
        check_apart(self._updated, values, self.name)
        described = [
            describe_tensor(value) if isinstance(value, torch.Tensor) else value for value in values
        ]
        trace = self._trace._native if self._trace is not None else None
        thread = threading.get_ident()
        self._threads.add(thread)
        try:
            outputs = self._native.execute(described, allocate_tensor, trace)
        finally:
            self._threads.discard(thread)
        for index in self._updated:
            write_back(values[index], given[index])
        return outputs

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Run on inputs nested as at export; the outputs come back nested as the model's.

        Files that carry no nesting take flat positional inputs and return a list. Files of the
        official exporter return inputs that the model updates before its results: these are not
        returned here but written into the caller's tensors, as the model does.

        Raises:
            InvalidArgumentError: the nesting differs, or as `execute`.
        """
        flat = flatten_inputs(self.name, self._metadata.input_spec, args, kwargs)
        updates = self._returned_updates
        for place in updates.values():
            if place < len(flat):
                check_writable(flat[place], f"method '{self.name}', input {place}")
        check_apart(updates.values(), flat, self.name)
        outputs = self.execute(flat)
        for output, place in updates.items():
            write_back(outputs[output], flat[place])
        results = [value for place, value in enumerate(outputs) if place not in updates]
        return unflatten_outputs(self.name, self._metadata.output_spec, results)

    @functools.cached_property
    def _returned_updates(self) -> dict[int, int]:
        """Outputs to inputs, where the file returns them besides what its nesting describes."""
        spec, returned = self._metadata.output_spec, self._metadata.returned_inputs
        if not spec or not returned:
            return {}
        others = self._metadata.num_outputs() - len(returned)
        return returned if parse_nesting(spec).num_leaves == others else {}

    def interrupt(self) -> None:
        """Stop the run that is under way, if there is one; callable from any thread."""
        self._native.interrupt()
        for thread in tuple(self._threads):
            stop_python(thread)

    @contextlib.contextmanager
    def trace(self, *, results: bool | Collection[int] = False) -> Iterator[EventTrace]:
        """Record every instruction of the runs within the `with` block.

        Args:
            results: keep a copy of what each instruction, and each node within a delegate,
                returned; or which instructions' results to keep, by index.

        Yields:
            The events, which grow whenever a run ends.
        """
        before = self._trace
        try:
            yield self.start_trace(results=results)
        finally:
            self._trace = before

    def start_trace(self, *, results: bool | Collection[int] = False) -> EventTrace:
        """Record every run from now on, until `stop_trace`.

        Args:
            results: as `trace` has it.
        """
        kept = results if isinstance(results, bool) else self._instruction_indices(results)
        self._trace = EventTrace(self._native, self._metadata, results=kept)
        return self._trace

    def resume_trace(self, trace: EventTrace) -> None:
        """Record every run from now on into a trace that `start_trace` made before."""
        self._trace = trace

    def stop_trace(self) -> None:
        """Record no more."""
        self._trace = None

    def _instruction_indices(self, given: Collection[int]) -> set[int]:
        count = self._metadata.num_instructions()
        for index in given:
            if not 0 <= index < count:
                raise InvalidArgumentError(
                    f"method '{self.name}': trace(results=…) names instruction {index}, there are"
                    f" {count}"
                )
        return set(given)

    @property
    def state(self) -> dict[str, torch.Tensor]:
        """Copies of the mutable buffers that the file names."""
        return self._native.state(allocate_tensor)

    def get_attribute(self, name: str) -> torch.Tensor:
        """A copy of the mutable buffer `name`.

        Raises:
            InvalidArgumentError: the file names no such buffer.
        """
        state = self.state
        if name not in state:
            known = sorted(state) or (
                "none (export with ExecutorchBackendConfig(emit_mutable_buffer_names=True))"
            )
            raise InvalidArgumentError(
                f"method '{self.name}' has no buffer '{name}'; it has: {known}"
            )
        return state[name]

    def reset_state(self) -> None:
        """Give every mutable buffer its first value (zero where the file has none)."""
        self._native.reset_state()

    def memory(self) -> MethodMemory:
        """The bytes that the method holds now, by what they are for.

        Temporary memory and the workspace of delegates are those of the runs so far.
        """
        return memory_of(self._native)

    @property
    def arena_bytes(self) -> int:
        """Bytes of the arenas that are held for activations and state."""
        return self._native.arena_bytes

    def __repr__(self) -> str:
        """The method's name and signature."""
        return f"Method({self._metadata!r})"


_NUMBERS = (bool, int, float, str, type(None))
