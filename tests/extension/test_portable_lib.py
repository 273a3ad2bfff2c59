"""Programs as scripts older than `etlab.runtime` load them."""

import pytest
import torch
from small_models import Counter, Mlp

from etlab.devtools import BundledProgram, MethodTestCase, MethodTestSuite
from etlab.devtools.bundled_program.serialize import (
    serialize_from_bundled_program_to_flatbuffer as write,
)
from etlab.errors import InvalidArgumentError, NotFoundError, VerificationError
from etlab.exir import ExecutorchBackendConfig, to_edge
from etlab.extension.export_util.utils import save_pte_program
from etlab.extension.pybindings import portable_lib
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_graphs import export_module

X = torch.randn(2, 5, generator=torch.Generator().manual_seed(0))


@pytest.fixture(scope="module")
def mlp():
    torch.manual_seed(0)
    model = Mlp().eval()
    return model, to_edge(export_module(model, (X,)))


def test_a_saved_program_is_loaded_and_run_with_its_weights(mlp, tmp_path):
    model, edge = mlp
    program = edge.to_executorch(ExecutorchBackendConfig(external_constants=True))
    path = save_pte_program(program, "mlp", str(tmp_path))
    assert path == str(tmp_path / "mlp.pte")
    (weights,) = tmp_path.glob("*.ptd")
    module = portable_lib._load_for_executorch(path, str(weights))
    assert module.method_names() == ["forward"]
    assert module.method_meta("forward").num_inputs() == 1
    for run in (module.forward, module, lambda x: module.run_method("forward", x)):
        assert_same(run([X])[0], model(X))
    from_bytes = portable_lib._load_for_executorch_from_buffer(
        bytes(program.buffer), weights.read_bytes()
    )
    assert_same(from_bytes.forward((X,))[0], model(X))


def test_a_path_is_where_a_program_is_saved(mlp, tmp_path):
    path = save_pte_program(mlp[1].to_executorch(), str(tmp_path / "other.pte"))
    assert path == str(tmp_path / "other.pte")
    assert Runtime.get().load_program(path).method_names == {"forward"}


def test_state_stays_from_call_to_call():
    program = to_edge(export_module(Counter(), (torch.ones(3),))).to_executorch()
    module = portable_lib._load_for_executorch_from_buffer(bytes(program.buffer))
    first, second = (module.forward([torch.ones(3)])[0] for _ in range(2))
    assert not torch.equal(first, second)


def test_runs_are_recorded(mlp, tmp_path):
    buffer = bytes(mlp[1].to_executorch().buffer)
    module = portable_lib._load_for_executorch_from_buffer(buffer, enable_etdump=True)
    assert module.has_etdump()
    module.forward([X])
    module.write_etdump_result_to_file(str(tmp_path / "runs.etdp"))
    assert (tmp_path / "runs.etdp").stat().st_size > 0
    assert not portable_lib._load_for_executorch_from_buffer(buffer).has_etdump()


def test_bundled_cases_are_run_and_verified(mlp):
    model, edge = mlp
    cases = [MethodTestCase((X,), model(X).detach()), MethodTestCase((X,), model(X).detach() + 1)]
    data = write(BundledProgram(edge.to_executorch(), [MethodTestSuite("forward", cases)]))
    bundle = portable_lib._load_bundled_program_from_buffer(data)
    module = portable_lib._load_for_executorch_from_bundled_program(bundle)
    with pytest.raises(InvalidArgumentError, match="call load_bundled_input first"):
        module.plan_execute("forward")
    module.load_bundled_input(bundle, "forward", 0)
    assert_same(module.plan_execute("forward")[0], model(X))
    (output,) = module.verify_result_with_bundled_expected_output(bundle, "forward", 0)
    assert_same(output, model(X))
    with pytest.raises(VerificationError, match="case 1, output 0: 6 of 6 numbers differ"):
        module.verify_result_with_bundled_expected_output(bundle, "forward", 1)
    with pytest.raises(NotFoundError, match="no case 2"):
        module.load_bundled_input(bundle, "forward", 2)


def test_what_the_runtime_has_is_told():
    assert "aten::add.out" in portable_lib._get_operator_names()
    backends = portable_lib._get_registered_backend_names()
    assert all(map(portable_lib._is_available, backends))
    assert not portable_lib._is_available("NoSuchBackend")
    count = portable_lib._threadpool_get_thread_count()
    portable_lib._unsafe_reset_threadpool(2)
    assert portable_lib._threadpool_get_thread_count() == 2
    portable_lib._unsafe_reset_threadpool(count)
