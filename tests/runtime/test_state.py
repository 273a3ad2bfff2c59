import pytest
import torch

from etlab import errors
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
