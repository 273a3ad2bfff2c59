import threading
import time
import uuid

import pytest
import torch

import etlab
from etlab import errors
from etlab.runtime import Runtime, register_kernel, unregister_kernel
from etlab.runtime.custom_kernels import kernel_name

LIBRARY = f"tests{uuid.uuid4().hex[:8]}"


@torch.library.custom_op(f"{LIBRARY}::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float, *, offset: int = 1) -> torch.Tensor:
    return x * factor + offset


@scale.register_fake
def _(x, factor, *, offset=1):
    return torch.empty_like(x)


@torch.library.custom_op(f"{LIBRARY}::split", mutates_args=())
def split(
    xs: list[torch.Tensor], where: list[int], bias: torch.Tensor | None = None
) -> tuple[torch.Tensor, torch.Tensor]:
    joined = torch.cat(xs) if bias is None else torch.cat(xs) + bias
    return joined[: where[0]].clone(), joined[where[0] :].sum().reshape(1)


@split.register_fake
def _(xs, where, bias=None):
    joined = torch.cat(xs)
    return torch.empty_like(joined[: where[0]]), joined.new_empty(1)


class Scale(torch.nn.Module):
    def forward(self, x):
        return scale(x.relu(), 2.5, offset=3) - 1


class Split(torch.nn.Module):
    def forward(self, x, y):
        return split([x, y], [2])


X = torch.tensor([-1.0, 2.0, 3.0])
NAME = f"{LIBRARY}::scale.out"


@pytest.fixture
def kernels():
    """Takes back what a test registers."""
    yield
    for name in etlab.runtime._native.custom_kernel_names():
        unregister_kernel(name)


@pytest.fixture(scope="module")
def program():
    return etlab.export(Scale().eval(), X).file.data


def _load(program):
    return Runtime.get().load_program(program).load_method("forward")


def test_operator_without_a_kernel_says_how_to_register_one(program):
    with pytest.raises(errors.OperatorMissingError, match=rf"register_kernel\('{NAME}', function"):
        _load(program)


@pytest.mark.parametrize(
    "operator",
    [NAME, f"{LIBRARY}::scale", scale, "packet", "overload"],
    ids=["out", "name", "definition", "packet", "overload"],
)
def test_operators_own_kernel_computes_what_eager_does(program, kernels, operator):
    packet = getattr(torch.ops, LIBRARY).scale
    operator = {"packet": packet, "overload": packet.default}.get(operator, operator)
    register_kernel(operator, packet)
    assert NAME in Runtime.get().operator_registry.operator_names
    assert torch.equal(_load(program)(X), Scale()(X))


def test_decorated_function_is_the_kernel(program, kernels):
    @register_kernel(NAME)
    def kernel(x, factor, offset):
        return x * factor + offset

    assert kernel(X, 2.0, 1)[1] == 5
    assert torch.equal(_load(program)(X), Scale()(X))


def test_lists_none_and_several_results_cross(kernels):
    register_kernel(f"{LIBRARY}::split", split)
    run = etlab.export(Split(), (X, X * 2))
    first, second = run.run((X, X * 2))
    expected = Split()(X, X * 2)
    assert torch.equal(first, expected[0])
    assert torch.equal(second, expected[1])


def test_parity_compares_and_leaves_the_official_runtime_out(kernels):
    register_kernel(NAME, scale)
    report = etlab.export(Scale().eval(), X).parity(X)
    report.check(max_abs=0)
    row = report.row("official")
    assert (
        row.status == "absent"
        or f"operator missing: the official runtime has no kernel for {NAME}" in row.reason
    )


def test_run_without_a_kernel_is_noted_at_export(kernels):
    assert f"no kernel for {NAME}" in etlab.export(Scale().eval(), X).notes[0]
    register_kernel(NAME, scale)
    assert etlab.export(Scale().eval(), X).notes == ()


def test_failing_kernel_is_an_error_with_its_traceback_and_the_method_runs_again(program, kernels):
    fail = True

    @register_kernel(NAME)
    def kernel(x, factor, offset):
        if fail:
            raise ZeroDivisionError("on purpose")
        return x * factor + offset

    method = _load(program)
    with pytest.raises(errors.InternalError, match="on purpose") as caught:
        method(X)
    assert f"{NAME}(" in str(caught.value)
    assert "Traceback" in str(caught.value)
    fail = False
    assert torch.equal(method(X), Scale()(X))


@pytest.mark.parametrize(
    ("returned", "message"),
    [
        (torch.zeros(4), "has a static shape, the operator computes"),
        (torch.zeros(3, dtype=torch.int64), "returned int64.3., the program expects .*float32"),
        ((torch.zeros(3), torch.zeros(3)), "returned 2 outputs, the program has 1"),
        ([], "returned 0 outputs"),
        (None, "output 0: a NoneType cannot be read as a tensor"),
        ("text", "output 0: a str cannot be read as a tensor"),
        (torch.zeros(3, device="meta"), "output 0: the tensor is on meta, expected the CPU"),
        (torch.zeros(3).to_sparse(), "output 0: expected a dense tensor"),
    ],
)
def test_wrong_results_are_refused_in_words(program, kernels, returned, message):
    register_kernel(NAME, lambda *arguments: returned)
    with pytest.raises(errors.InvalidArgumentError, match=message) as caught:
        _load(program)(X)
    assert "Traceback" not in str(caught.value)


def test_registering_again_serves_methods_that_are_loaded_afterwards(program, kernels):
    register_kernel(NAME, lambda x, factor, offset: x * 0)
    before = _load(program)
    register_kernel(NAME, lambda x, factor, offset: x * 0 + 1)
    assert before(X).tolist() == [-1.0] * 3
    assert _load(program)(X).tolist() == [0.0] * 3
    unregister_kernel(NAME)
    assert before(X).tolist() == [-1.0] * 3
    with pytest.raises(errors.OperatorMissingError):
        _load(program)


def test_kernel_stands_in_front_of_a_built_in_one(kernels):
    class Relu(torch.nn.Module):
        def forward(self, x):
            return x.relu()

    program = etlab.export(Relu(), X).file.data
    register_kernel("aten::relu.out", lambda x: x * 10)
    assert _load(program)(X).tolist() == [-10.0, 20.0, 30.0]
    unregister_kernel("aten::relu.out")
    assert _load(program)(X).tolist() == [0.0, 2.0, 3.0]


def test_unregistering_what_is_not_there_lists_what_is(kernels):
    register_kernel("mine::one", scale)
    with pytest.raises(
        errors.NotFoundError, match=r"for mine::two\.out; registered: mine::one\.out"
    ):
        unregister_kernel("mine::two")


@pytest.mark.parametrize("operator", [3, "relu", "a::b::c", "a b::c", torch.relu])
def test_other_names_are_refused(operator):
    with pytest.raises(errors.InvalidArgumentError, match="expected the name of an operator"):
        kernel_name(operator)
    with pytest.raises(errors.InvalidArgumentError, match="expected a function as the kernel"):
        register_kernel("a::b", 3)


def test_kernels_of_several_threads_run_beside_a_ticking_one(program, kernels):
    barrier = threading.Barrier(2, timeout=20)

    @register_kernel(NAME)
    def kernel(x, factor, offset):
        barrier.wait()  # passes only when both methods are inside their kernels at once
        time.sleep(0.01)
        return x * factor + offset

    found = []

    def work():
        found.append(Runtime.get().load_program(program).new_method("forward")(X))

    threads = [threading.Thread(target=work) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert [torch.equal(one, Scale()(X)) for one in found] == [True, True]


def test_kernel_may_run_other_methods_but_not_its_own(program, kernels):
    kernel = {"inner": lambda x, factor, offset: x * factor + offset}
    register_kernel(NAME, lambda *arguments: kernel["inner"](*arguments))
    method, other = _load(program), _load(program)
    kernel["inner"] = lambda x, factor, offset: method(x)
    with pytest.raises(errors.EtlabError, match="called by a kernel or backend of its own run"):
        method(X)
    calls = []

    def through_other(x, factor, offset):
        calls.append(x)
        return other(x) if len(calls) == 1 else x * factor + offset

    kernel["inner"] = through_other
    assert torch.equal(method(X), Scale()(X.relu()) - 1)
    assert len(calls) == 2


def test_kernels_see_copies(program, kernels):
    kept = []

    @register_kernel(NAME)
    def kernel(x, factor, offset):
        kept.append(x)
        return x * factor + offset

    method = _load(program)
    method(X)
    method(X * 2)
    assert torch.equal(kept[0], X.relu())
    assert torch.equal(kept[1], X.relu() * 2)
