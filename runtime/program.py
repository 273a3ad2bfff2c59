"""Loading programs: `Runtime.get().load_program(…).load_method("forward")`."""

import enum
import functools
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, cast

from etlab.errors import BackendMissingError, InvalidArgumentError, OperatorMissingError
from etlab.runtime import _native
from etlab.runtime.bounds import KEY, InputBounds, read_bounds
from etlab.runtime.metadata import MethodMeta
from etlab.runtime.method import Method
from etlab.runtime.registries import BackendRegistry, OperatorRegistry, import_delegates
from etlab.runtime.threads import set_thread_count, thread_count
from etlab.runtime.trace import EventTrace, ValueOrders, save_etdump

_OWN_NAMESPACES = {"aten", "dim_order_ops", "executorch_prim", "quantized_decomposed", "etlab"}

ProgramSource = bytes | bytearray | memoryview | BinaryIO | Path | str
TensorData = Path | str | bytes | bytearray | memoryview


class Verification(enum.Enum):
    """How much of a program is checked before use; ExecuTorch's names.

    Both values do the same here: every program is verified in full, for an unverified one could
    end the process.
    """

    Minimal = 0
    InternalConsistency = 1


class Program:
    """A loaded and verified program."""

    def __init__(self, native: _native.Program, *, trace: str | None = None) -> None:
        """Wrap a loaded native program; use `Runtime.load_program`."""
        self._native = native
        self._methods: dict[tuple[str, bool], Method] = {}
        self._trace_mode = trace  # "times", "results", or None for no ETDump
        self._traces: list[EventTrace] = []

    @property
    def method_names(self) -> set[str]:
        """The names of the methods."""
        return set(self._native.method_names)

    def load_method(self, name: str, *, check_memory: bool | None = None) -> Method | None:
        """The method `name`, prepared once: every later call returns the same object.

        Args:
            name: one of `method_names`.
            check_memory: find mistakes of the memory plan. Each run then poisons arena bytes that
                nobody uses (NaN in floats, -1 in integers) and raises InvalidProgramError where a
                value is read after its bytes were given to another. Runs become slower. None means
                yes when the environment variable ETLAB_CHECK_MEMORY is 1.

        Raises:
            NotFoundError: the program has no such method; the message lists those it has.
            OperatorMissingError: operators without a kernel, all of them.
            BackendMissingError: a backend that is not registered.
            EtlabError: memory cannot be had, or a backend refuses its data.
        """
        if not isinstance(name, str):
            raise InvalidArgumentError(
                f"load_method: expected the name of a method, got {type(name).__name__}"
            )
        key = (name, _is_memory_checked(check_memory))
        if key not in self._methods:
            self._methods[key] = self.new_method(name, check_memory=key[1])
        return self._methods[key]

    def new_method(self, name: str, *, check_memory: bool | None = None) -> Method:
        """The method `name` with memory of its own; takes and raises what `load_method` does.

        Its state is its own too, unless the program was exported with state that its methods share.
        """
        metadata = self.metadata(name)
        bounds = self.input_bounds(name)
        try:
            native = _load_native(self._native, name, metadata)
        except BackendMissingError:
            if not import_delegates():
                raise
            native = _load_native(self._native, name, metadata)
        if _is_memory_checked(check_memory):
            native.check_memory()
        method = Method(native, metadata, bounds)
        if self._trace_mode is not None:
            self._traces.append(method.start_trace(results=self._trace_mode == "results"))
        return method

    def write_etdump_result_to_file(
        self,
        etdump_path: str | Path,
        debug_buffer_path: str | Path | None = None,
        value_orders: Mapping[str, ValueOrders] | None = None,
    ) -> None:
        """Write what all methods of this program did since it was loaded or last written.

        Args:
            etdump_path: of the .etdp file.
            debug_buffer_path: of the file for what instructions returned.
            value_orders: by method, `ETRecord.value_orders(method)`: with it the results of
                delegates' nodes are written too.

        Raises:
            InvalidArgumentError: the program was loaded without `enable_etdump=True`.
            AccessError: a place cannot be written.
        """
        if self._trace_mode is None:
            raise InvalidArgumentError(
                "write_etdump_result_to_file: nothing was recorded; load the program with"
                " load_program(..., enable_etdump=True)"
            )
        save_etdump(self._traces, etdump_path, debug_buffer_path, value_orders)
        for trace in self._traces:
            trace.clear()

    def input_bounds(self, method_name: str) -> tuple[InputBounds, ...]:
        """The least and largest sizes of dynamic inputs; empty when the file does not say.

        Programs of other compilers hold upper bounds only: `metadata` has them.

        Raises:
            InvalidProgramError: what the file says is damaged.
        """
        return read_bounds(self._native.named_data(KEY), method_name)

    def metadata(self, method_name: str) -> MethodMeta:
        """What the file says about a method, without loading it.

        Raises:
            NotFoundError: the program has no such method.
        """
        return MethodMeta(self._native.metadata(method_name))

    def instruction_source(self, method_name: str, instruction: int) -> list[str]:
        """Where an instruction stands in the user's source, innermost last; often empty."""
        return self._native.instruction_source(method_name, instruction)

    def __repr__(self) -> str:
        """The methods of the program."""
        return f"Program(methods={sorted(self.method_names)})"


def _load_native(program: _native.Program, name: str, metadata: MethodMeta) -> _native.Method:
    try:
        return _native.Method.load(program, name)
    except OperatorMissingError as error:
        known = OperatorRegistry().operator_names
        own = [one for one in metadata.operator_names if one not in known and _is_users(one)]
        if not own:
            raise
        raise OperatorMissingError(
            f"{error}. In Python: etlab.runtime.register_kernel({own[0]!r}, function)"
        ) from None


def _is_users(operator: str) -> bool:
    """Whether the operator stands in a library of the user's."""
    return operator.partition("::")[0] not in _OWN_NAMESPACES


class Runtime:
    """The native runtime of this process.

    Attributes:
        operator_registry: the operators that have kernels.
        backend_registry: the backends that delegates can use.
    """

    def __init__(self) -> None:
        """Use `Runtime.get()`."""
        self.operator_registry = OperatorRegistry()
        self.backend_registry = BackendRegistry()

    @staticmethod
    @functools.lru_cache(maxsize=1)
    def get() -> "Runtime":
        """The one runtime of the process."""
        return Runtime()

    @property
    def num_threads(self) -> int:
        """How many threads kernels may use: `etlab.runtime.thread_count()`."""
        return thread_count()

    def set_num_threads(self, count: int) -> None:
        """Let kernels use `count` threads: `etlab.runtime.set_thread_count(count)`.

        Raises:
            InvalidArgumentError: `count` is no whole number from 1 to 1024.
        """
        set_thread_count(count)

    def load_program(
        self,
        data: ProgramSource,
        *,
        verification: Verification = Verification.InternalConsistency,
        enable_etdump: bool = False,
        debug_buffer_size: int = 0,
        data_path: TensorData | Sequence[TensorData] | None = None,
        memory_map: bool = False,
    ) -> Program:
        """Load a .pte program.

        Args:
            data: a path, the bytes, or an open binary file. `bytes` are used in place; anything
                that could change after it was verified is copied.
            verification: accepted for ExecuTorch's sake; programs are always verified in full.
            enable_etdump: record every run of every method for `write_etdump_result_to_file`;
                `Method.trace` records without files.
            debug_buffer_size: record what instructions return, too, if it is more than 0. There is
                no limit to what is kept: memory grows with every run.
            data_path: the .ptd file, or files, with what the program keeps outside: paths, or the
                files' bytes.
            memory_map: map the files instead of reading it: less memory for large models, but they
                must not be rewritten in place while the program is in use.

        Raises:
            InvalidProgramError: damaged, truncated, foreign or newer than this runtime.
            NotSupportedError: valid, but needs what this runtime does not have.
            AccessError: the file cannot be read.
        """
        if not isinstance(verification, Verification):
            raise InvalidArgumentError(
                f"verification: expected a Verification, got {verification!r}"
            )
        trace = ("results" if debug_buffer_size > 0 else "times") if enable_etdump else None
        paths, contents = _tensor_files(data_path)
        if isinstance(data, str | Path):
            path = _native_path(data, "load_program")
            return Program(
                _native.Program.load_file(path, paths, memory_map, contents), trace=trace
            )
        if isinstance(data, bytes | bytearray | memoryview):
            return Program(
                _native.Program.load_bytes(bytes(data), paths, memory_map, contents), trace=trace
            )
        if hasattr(data, "read"):
            content = data.read()
            if isinstance(content, str):
                raise InvalidArgumentError(
                    "load_program: the file is open as text; open it with mode 'rb'"
                )
            return Program(
                _native.Program.load_bytes(bytes(content), paths, memory_map, contents), trace=trace
            )
        raise InvalidArgumentError(
            "load_program: expected a path, bytes or an open binary file, got"
            f" {type(data).__name__}"
        )


def _is_memory_checked(asked: bool | None) -> bool:
    return os.environ.get("ETLAB_CHECK_MEMORY") == "1" if asked is None else asked


def _tensor_files(
    given: TensorData | Sequence[TensorData] | None,
) -> tuple[list[bytes], list[bytes]]:
    """Paths and contents of .ptd files."""
    items: Sequence[TensorData]
    if given is None:
        items = ()
    elif isinstance(given, str | Path | bytes | bytearray | memoryview):
        items = (given,)
    elif isinstance(given, Sequence):
        items = cast(Sequence[TensorData], given)  # a sequence of bytes objects, not of numbers
    else:
        raise InvalidArgumentError(
            f"data_path: expected a path or a list of paths, got {type(given).__name__}"
        )
    buffers = (bytes, bytearray, memoryview)
    paths = [_native_path(item, "data_path") for item in items if not isinstance(item, buffers)]
    return paths, [bytes(item) for item in items if isinstance(item, buffers)]


def _native_path(path: Path | str, what: str) -> bytes:
    """A path as the system spells it: a name on disk need not be text."""
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgumentError(f"{what}: expected a path, got {type(path).__name__}")
    name = os.fsencode(path)
    if b"\0" in name:
        raise InvalidArgumentError(f"{what}: the path {str(path)!r} holds a NUL character")
    return name
