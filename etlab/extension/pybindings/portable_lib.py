"""`_load_for_executorch`: a program as one object, for scripts older than `etlab.runtime`."""

from collections.abc import Sequence
from typing import Any

from etlab.devtools.bundled_program.core import BundledProgram
from etlab.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
)
from etlab.devtools.bundled_program.verification import Verification as CaseVerification
from etlab.devtools.bundled_program.verification import compare_case
from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.runtime import (
    Method,
    MethodMeta,
    OperatorRegistry,
    Program,
    Runtime,
    TensorInfo,
    Verification,
    set_thread_count,
    thread_count,
)

__all__ = [
    "BundledModule",
    "ExecuTorchModule",
    "MethodMeta",
    "TensorInfo",
    "Verification",
    "_get_operator_names",
    "_get_registered_backend_names",
    "_is_available",
    "_load_bundled_program_from_buffer",
    "_load_for_executorch",
    "_load_for_executorch_from_buffer",
    "_load_for_executorch_from_bundled_program",
    "_threadpool_get_thread_count",
    "_unsafe_reset_threadpool",
]

BundledModule = BundledProgram


class ExecuTorchModule:
    """A loaded program; a method is loaded when it is first run, and keeps its state."""

    def __init__(self, program: Program, *, has_etdump: bool) -> None:
        """Made by `_load_for_executorch`."""
        self._program = program
        self._has_etdump = has_etdump
        self._bundled: dict[str, Sequence[Any]] = {}

    def __call__(self, inputs: Sequence[Any], clone_outputs: bool = True) -> list[Any]:
        """`forward`."""
        return self.run_method("forward", inputs, clone_outputs)

    def forward(self, inputs: Sequence[Any], clone_outputs: bool = True) -> list[Any]:
        """Run the method "forward"; takes and raises what `run_method` does."""
        return self.run_method("forward", inputs, clone_outputs)

    def run_method(
        self, method_name: str, inputs: Sequence[Any], clone_outputs: bool = True
    ) -> list[Any]:
        """Run a method.

        Args:
            method_name: which one.
            inputs: its flat inputs.
            clone_outputs: accepted for ExecuTorch's sake; outputs are always the caller's own.

        Raises:
            NotFoundError: there is no such method.
            EtlabError: what `Method.execute` raises.
        """
        return self._method(method_name).execute(list(inputs))

    def plan_execute(self, method_name: str, clone_outputs: bool = True) -> list[Any]:
        """Run a method on what `load_bundled_input` gave it.

        Raises:
            InvalidArgumentError: nothing was given.
        """
        if method_name not in self._bundled and self.method_meta(method_name).num_inputs():
            raise InvalidArgumentError(
                f"plan_execute: method '{method_name}' has no inputs; call load_bundled_input first"
            )
        return self.run_method(method_name, self._bundled.get(method_name, ()), clone_outputs)

    def load_bundled_input(self, bundle: BundledModule, method_name: str, testset_idx: int) -> None:
        """Take the inputs of a case for `plan_execute`.

        Raises:
            InvalidArgumentError: the bundle has no cases for the method.
            NotFoundError: there is no such case.
        """
        self._bundled[method_name] = _case(bundle, method_name, testset_idx).inputs

    def verify_result_with_bundled_expected_output(
        self,
        bundle: BundledModule,
        method_name: str,
        testset_idx: int,
        rtol: float = 1e-5,
        atol: float = 1e-8,
    ) -> list[Any]:
        """Run a case, and compare what comes with what it expects.

        Returns:
            The outputs.

        Raises:
            VerificationError: they differ; the message says where and by how much.
            InvalidArgumentError: the bundle has no cases for the method.
            NotFoundError: there is no such case.
        """
        case = _case(bundle, method_name, testset_idx)
        outputs = self.run_method(method_name, case.inputs)
        results = compare_case(
            method_name, testset_idx, outputs, case.expected_outputs, rtol=rtol, atol=atol
        )
        CaseVerification(tuple(results), rtol, atol).check()
        return outputs

    def has_etdump(self) -> bool:
        """Whether runs are recorded."""
        return self._has_etdump

    def write_etdump_result_to_file(self, path: str, debug_buffer_path: str | None = None) -> None:
        """Write what was recorded; raises what `Program.write_etdump_result_to_file` does."""
        self._program.write_etdump_result_to_file(path, debug_buffer_path)

    def method_meta(self, method_name: str) -> MethodMeta:
        """What the program says about a method.

        Raises:
            NotFoundError: there is no such method.
        """
        return self._program.metadata(method_name)

    def method_names(self) -> list[str]:
        """Names of the methods, sorted."""
        return sorted(self._program.method_names)

    def _method(self, name: str) -> Method:
        method = self._program.load_method(name)
        assert method is not None
        return method


def _load(
    source: str | bytes,
    data: str | bytes | None,
    enable_etdump: bool,
    debug_buffer_size: int,
    verification: Verification,
) -> ExecuTorchModule:
    program = Runtime.get().load_program(
        source,
        verification=verification,
        enable_etdump=enable_etdump,
        debug_buffer_size=debug_buffer_size,
        data_path=data,
    )
    return ExecuTorchModule(program, has_etdump=enable_etdump)


def _load_for_executorch(
    program_path: str,
    data_path: str | None = None,
    enable_etdump: bool = False,
    debug_buffer_size: int = 0,
    program_verification: Verification = Verification.InternalConsistency,
) -> ExecuTorchModule:
    """Load a program from a file; takes and raises what `Runtime.load_program` does."""
    return _load(program_path, data_path, enable_etdump, debug_buffer_size, program_verification)


def _load_for_executorch_from_buffer(
    buffer: bytes,
    data_map_buffer: bytes | None = None,
    enable_etdump: bool = False,
    debug_buffer_size: int = 0,
    program_verification: Verification = Verification.InternalConsistency,
) -> ExecuTorchModule:
    """Load a program from bytes; takes and raises what `Runtime.load_program` does."""
    return _load(buffer, data_map_buffer, enable_etdump, debug_buffer_size, program_verification)


def _load_for_executorch_from_bundled_program(
    module: BundledModule,
    data_map_buffer: bytes | None = None,
    enable_etdump: bool = False,
    debug_buffer_size: int = 0,
) -> ExecuTorchModule:
    """Load the program of a bundle; takes and raises what `Runtime.load_program` does."""
    return _load_for_executorch_from_buffer(
        module.program_bytes, data_map_buffer, enable_etdump, debug_buffer_size
    )


def _load_bundled_program_from_buffer(buffer: bytes, non_const_pool_size: int = 0) -> BundledModule:
    """Read a bundle.

    Args:
        buffer: content of a .bpte file.
        non_const_pool_size: accepted for ExecuTorch's sake; there is no fixed pool.

    Raises:
        InvalidProgramError: it is damaged, or no bundle.
    """
    return deserialize_from_flatbuffer_to_bundled_program(buffer)


def _get_operator_names() -> list[str]:
    """Operators that have kernels, sorted."""
    return sorted(OperatorRegistry().operator_names)


def _get_registered_backend_names() -> list[str]:
    """Backends that delegates can use, sorted."""
    return Runtime.get().backend_registry.registered_backend_names


def _is_available(backend_name: str) -> bool:
    """Whether a program that delegates to a backend can be loaded."""
    return Runtime.get().backend_registry.is_available(backend_name)


def _threadpool_get_thread_count() -> int:
    """How many threads kernels may use."""
    return thread_count()


def _unsafe_reset_threadpool(num_threads: int) -> None:
    """Let kernels use another number of threads; here that is safe at any time."""
    set_thread_count(num_threads)


def _case(bundle: BundledModule, method_name: str, index: int) -> Any:
    cases = bundle.suite(method_name).test_cases
    if not 0 <= index < len(cases):
        raise NotFoundError(
            f"the bundled program has no case {index} of method '{method_name}'; it has"
            f" {len(cases)}"
        )
    return cases[index]
