import pytest
import torch

from etlab import errors
from etlab.runtime import Runtime, register_backend
from etlab.testing import assert_same

BACKEND = "PythonTestBackend"


class _Delegate:
    def __init__(self, compute):
        self._compute = compute

    def execute(self, inputs):
        return self._compute(*inputs)


class _Backend:
    """Remembers what it was given and computes with a function."""

    def __init__(self, compute):
        self._compute = compute
        self.created = []
        self.named_data = None

    def create(self, processed, compile_specs, named_data):
        self.created.append((processed, compile_specs))
        self.named_data = named_data
        return _Delegate(self._compute)


@pytest.fixture(scope="module")
def delegated() -> bytes:
    """relu(x + y), with x + y delegated; the backend's data is b"payload"."""
    exir = pytest.importorskip("executorch.exir", reason="executorch is not installed")
    from executorch.exir.backend import backend_details, partitioner
    from executorch.exir.backend.compile_spec_schema import CompileSpec

    class PythonTestBackend(backend_details.BackendDetails):
        @staticmethod
        def preprocess(edge_program, compile_specs):
            return backend_details.PreprocessResult(processed_bytes=b"payload")

    class OnlyAdd(partitioner.Partitioner):
        def partition(self, exported_program):
            for node in exported_program.graph.nodes:
                if node.op == "call_function" and "add" in str(node.target):
                    node.meta["delegation_tag"] = "add"
            spec = partitioner.DelegationSpec(BACKEND, [CompileSpec("mode", b"\x01\x02")])
            return partitioner.PartitionResult(exported_program, {"add": spec})

    assert PythonTestBackend.__name__ == BACKEND

    class Model(torch.nn.Module):
        def forward(self, x, y):
            return torch.relu(x + y)

    exported = torch.export.export(Model(), (torch.ones(3), torch.ones(3)))
    edge = exir.to_edge(exported).to_backend(OnlyAdd())
    return bytes(edge.to_executorch().buffer)


def _load(delegated, compute):
    backend = _Backend(compute)
    register_backend(BACKEND, backend)
    return backend, Runtime.get().load_program(delegated).load_method("forward")


X, Y = torch.tensor([1.0, -5.0, 2.0]), torch.tensor([1.0, 1.0, 3.0])


def test_python_backend_computes_its_part(delegated):
    backend, method = _load(delegated, lambda x, y: [x + y])
    assert_same(method.execute([X, Y])[0], torch.relu(X + Y))
    assert backend.created == [(b"payload", {"mode": b"\x01\x02"})]
    assert Runtime.get().backend_registry.is_available(BACKEND)
    assert method.metadata.backend_names == (BACKEND,)


def test_backend_registered_again_serves_methods_loaded_afterwards(delegated):
    _, first = _load(delegated, lambda x, y: [x + y])
    _, second = _load(delegated, lambda x, y: [x - y])
    assert_same(first.execute([X, Y])[0], torch.relu(X + Y))
    assert_same(second.execute([X, Y])[0], torch.relu(X - Y))


def test_backend_may_return_one_tensor_of_any_layout(delegated):
    _, method = _load(delegated, lambda x, y: (x + y).flip(0).flip(0))
    assert_same(method.execute([X, Y])[0], torch.relu(X + Y))


def test_inputs_given_to_a_backend_are_its_own(delegated):
    kept = []

    def compute(x, y):
        kept.append(x)
        return [x.add_(y)]

    _, method = _load(delegated, compute)
    x = X.clone()
    method.execute([x, Y])
    assert torch.equal(x, X)
    method.execute([torch.zeros(3), Y])
    assert torch.equal(kept[0], X + Y)


@pytest.mark.parametrize(
    ("compute", "message"),
    [
        (lambda x, y: 1 / 0, r"delegate PythonTestBackend\(.*ZeroDivisionError: division by zero"),
        (lambda x, y: [x, y], "returned 2 outputs, the program has 1"),
        (lambda x, y: [x.double()], r"returned float64\[3\], the program expects float32\[3\]"),
        (lambda x, y: [x[:2]], r"float32\[3\] has a static shape"),
        (lambda x, y: None, "a NoneType cannot be read as a tensor"),
        (lambda x, y: ["text"], "cannot be read as a tensor"),
    ],
)
def test_failures_of_a_backend_arrive_in_words(delegated, compute, message):
    _, method = _load(delegated, compute)
    with pytest.raises(errors.EtlabError, match=f"(?s)instruction 0 of 2.*{message}"):
        method.execute([X, Y])


@pytest.mark.usefixtures("listens_to_interrupts")
def test_keyboard_interrupt_in_a_backend_stays_one(delegated):
    def compute(x, y):
        raise KeyboardInterrupt

    _, method = _load(delegated, compute)
    with pytest.raises(KeyboardInterrupt):
        method.execute([X, Y])


def test_backend_that_refuses_its_data_is_named(delegated):
    class Refusing:
        def create(self, processed, compile_specs, named_data):
            raise ValueError("version 7 is unknown")

    register_backend(BACKEND, Refusing())
    program = Runtime.get().load_program(delegated)
    with pytest.raises(
        errors.EtlabError, match=r"(?s)delegate 0 \(PythonTest.*version 7 is unknown"
    ):
        program.load_method("forward")


def test_unregistered_backend_is_named_with_those_there_are(delegated):
    data = delegated.replace(BACKEND.encode(), b"PythonNestBackend")
    with pytest.raises(errors.BackendMissingError, match="backend PythonNestBackend is not regis"):
        Runtime.get().load_program(data).load_method("forward")


def test_named_data_is_missing_in_words_and_closed_after_create(delegated):
    backend, _ = _load(delegated, lambda x, y: [x + y])
    with pytest.raises(errors.InvalidArgumentError, match="only while the backend's create"):
        backend.named_data.get("weights")


def test_only_backends_are_registered():
    with pytest.raises(errors.InvalidArgumentError, match=r"an object with create\(\)"):
        register_backend("Nothing", object())
