"""Delegates in our programs: a payload of the official XNNPACK backend, run by its runtime."""

import operator

import pytest
import torch
from exir.lowering import Mlp, seeded
from interop.official import run_official
from interop.official_programs import official_programs
from torch import fx
from torch._subclasses.fake_tensor import FakeTensorMode
from torch.export.graph_signature import TensorArgument

from etlab.errors import LoweringError
from etlab.exir import CompileSpec, ExecutorchBackendConfig, ExecutorchProgramManager
from etlab.exir.edge import EdgeGraph, InputKind, InputSpec, OutputKind, OutputSpec
from etlab.exir.emit.file import read_program
from etlab.exir.executorch_program import lower_to_executorch
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.numerics.official import is_available
from etlab.testing import assert_same


def _delegating(*modules: LoweredModule) -> EdgeGraph:
    """A graph that hands its input to each module in turn and returns all their results."""
    mode = FakeTensorMode()
    graph = fx.Graph()
    x = graph.placeholder("x")
    x.meta["val"] = mode.from_tensor(seeded(2, 5))
    results = []
    for index in range(len(modules)):
        module = graph.get_attr(f"lowered_module_{index}")
        call = graph.call_function(executorch_call_delegate, (module, x))
        call.meta["val"] = (mode.from_tensor(seeded(2, 3)),)
        results.append(graph.call_function(operator.getitem, (call, 0)))
        results[-1].meta["val"] = call.meta["val"][0]
    graph.output(tuple(results))
    outputs = [
        OutputSpec(OutputKind.USER_OUTPUT, TensorArgument(node.name), None) for node in results
    ]
    inputs = [InputSpec(InputKind.USER_INPUT, TensorArgument("x"), None)]
    submodules = {f"lowered_module_{index}": item for index, item in enumerate(modules)}
    return EdgeGraph("forward", graph, inputs, outputs, {}, {}, None, None, submodules)


def _lower(*modules: LoweredModule, **options: object) -> ExecutorchProgramManager:
    config = ExecutorchBackendConfig(**options)  # type: ignore[arg-type]
    return lower_to_executorch({"forward": _delegating(*modules)}, config=config)


def _module(processed: bytes, named: dict[str, bytes] | None = None) -> LoweredModule:
    specs = [CompileSpec("key", b"value")]
    return LoweredModule("Backend", processed, specs, _delegating(), named or {})


@pytest.fixture(scope="module")
def official_module(pytestconfig: pytest.Config) -> LoweredModule:
    """The MLP as the official exporter hands it to XNNPACK."""
    if not is_available():
        pytest.skip("executorch is not installed: pip install 'etlab[official]'")
    program = official_programs("delegates", pytestconfig)["mlp"]
    assert isinstance(program, bytes)
    data = read_program(program)
    (delegate,) = (data.program.execution_plan or ())[0].delegates or ()
    assert delegate.processed is not None
    named = {
        str(item.key): bytes(data.segments[item.segment_index])
        for item in data.program.named_data or ()
    }
    payload = bytes(data.segments[delegate.processed.index])
    return LoweredModule(str(delegate.id), payload, [], _delegating(), named)


@pytest.mark.parametrize("is_extracted", [True, False])
def test_the_official_backend_runs_from_our_program(
    official_module: LoweredModule, *, is_extracted: bool
) -> None:
    program = _lower(official_module, official_module, extract_delegate_segments=is_extracted)
    first, second = run_official(program.buffer, [seeded(2, 5)])
    with torch.no_grad():
        expected = Mlp()(seeded(2, 5))
    assert_same(first, expected)
    assert_same(second, expected)


def test_equal_payloads_and_named_data_are_stored_once() -> None:
    payload, weights = bytes(range(256)) * 40, b"w" * 9000
    modules = [_module(payload, {"a": weights}), _module(payload, {"b": weights})]
    program = _lower(*modules)
    assert program.buffer.count(payload) == 1
    assert program.buffer.count(weights) == 1
    data = read_program(program.buffer)
    assert [item.key for item in data.program.named_data or ()] == ["a", "b"]
    assert {bytes(data.segments[item.segment_index]) for item in data.program.named_data or ()} == {
        weights
    }


def test_compile_specs_and_arguments_stand_in_the_program() -> None:
    plan = (_lower(_module(b"payload")).executorch_program.execution_plan or ())[0]
    (delegate,) = plan.delegates or ()
    assert [(spec.key, spec.value) for spec in delegate.compile_specs or ()] == [("key", b"value")]
    call = ((plan.chains or ())[0].instructions or ())[0].instr_args
    assert call.args == (*(plan.inputs or ()), *(plan.outputs or ()))  # type: ignore[union-attr]


def test_arenas_of_delegating_methods_have_room_to_read_past_the_end() -> None:
    plan = _lower(_module(b"payload")).memory_plan()
    assert plan.peak == max(t.offset + t.nbytes for t in plan.tensors) + 64


def test_payloads_start_at_multiples_of_their_alignment() -> None:
    program = _lower(_module(b"p" * 100), delegate_alignment=1024)
    assert program.buffer.index(b"p" * 100) % 1024 == 0


def test_one_name_for_different_bytes_is_refused() -> None:
    with pytest.raises(LoweringError, match="'weights'"):
        _lower(_module(b"1", {"weights": b"a"}), _module(b"2", {"weights": b"b"}))
