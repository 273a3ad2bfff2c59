import pytest
import torch

from etlab import errors
from etlab.runtime import Runtime
from etlab.testing import assert_same


def test_state_begins_at_its_first_value_and_is_kept_between_runs(load, example, compiler):
    module, _, _ = example("counter")
    method = load("counter", compiler).load_method("forward")
    for step in range(3):
        x = torch.full((3,), float(step))
        assert_same(method.execute([x])[0], module(x))


def test_reset_gives_state_its_first_value_again(load, compiler):
    method = load("counter", compiler).load_method("forward")
    first = method.execute([torch.ones(3)])[0]
    method.execute([torch.ones(3)])
    method.reset_state()
    assert_same(method.execute([torch.ones(3)])[0], first)


def test_named_state_can_be_read(load):
    method = load("counter").load_method("forward")
    assert_same(method.get_attribute("total"), torch.full((3,), 3.0))
    method.execute([torch.ones(3)])
    assert_same(method.state["total"], torch.full((3,), 4.0))
    assert method.metadata.num_attributes() == 1
    with pytest.raises(errors.InvalidArgumentError, match="has no buffer 'weight'"):
        method.get_attribute("weight")


def test_new_method_has_state_of_its_own(load):
    program = load("counter")
    assert program.load_method("forward") is program.load_method("forward")
    one, other = program.new_method("forward"), program.new_method("forward")
    one.execute([torch.ones(3)])
    assert_same(other.execute([torch.ones(3)])[0], torch.full((3,), 4.0))


class _Cache(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("cache", torch.zeros(3))


class _Store(_Cache):
    def forward(self, x):
        self.cache.copy_(x)
        return x + 1.0


class _Add(_Cache):
    def forward(self, x):
        self.cache.add_(x)
        return self.cache * 1.0


@pytest.fixture(scope="module", params=["official", "etlab"])
def shared_state_program(request):
    """Methods "store" and "add" that share one buffer."""
    if request.param == "official":
        exir = pytest.importorskip("executorch.exir", reason="executorch is not installed")
        from executorch.exir.passes import MemoryPlanningPass
    else:
        from etlab import exir
        from etlab.exir.memory import MemoryPlanningPass

    exported = {
        name: torch.export.export(module(), (torch.ones(3),))
        for name, module in {"store": _Store, "add": _Add}.items()
    }
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    config = exir.ExecutorchBackendConfig(memory_planning_pass=planning)
    return bytes(exir.to_edge(exported).to_executorch(config).buffer)


def test_methods_exported_with_shared_state_see_each_others_writes(shared_state_program):
    program = Runtime.get().load_program(shared_state_program)
    store, add = program.load_method("store"), program.load_method("add")
    store.execute([torch.full((3,), 5.0)])
    assert_same(add.execute([torch.ones(3)])[0], torch.full((3,), 6.0))
    assert_same(program.new_method("add").execute([torch.ones(3)])[0], torch.full((3,), 7.0))
    other = Runtime.get().load_program(shared_state_program)
    assert_same(other.load_method("add").execute([torch.ones(3)])[0], torch.ones(3))


def test_resetting_one_method_resets_the_shared_state(shared_state_program):
    program = Runtime.get().load_program(shared_state_program)
    store, add = program.load_method("store"), program.load_method("add")
    store.execute([torch.full((3,), 5.0)])
    store.reset_state()
    assert_same(add.execute([torch.ones(3)])[0], torch.ones(3))


class _Read(_Cache):
    def forward(self, x):
        return self.cache * 2.0 + x


def test_a_method_that_only_reads_sees_the_others_writes():
    from etlab import exir
    from etlab.exir.memory import MemoryPlanningPass

    exported = {
        name: torch.export.export(module(), (torch.ones(3),))
        for name, module in {"store": _Store, "read": _Read}.items()
    }
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    config = exir.ExecutorchBackendConfig(memory_planning_pass=planning)
    data = bytes(exir.to_edge(exported).to_executorch(config).buffer)
    program = Runtime.get().load_program(data)
    read = program.load_method("read")
    assert_same(read.execute([torch.ones(3)])[0], torch.ones(3))
    program.load_method("store").execute([torch.full((3,), 5.0)])
    assert_same(read.execute([torch.ones(3)])[0], torch.full((3,), 11.0))
