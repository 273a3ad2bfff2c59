import numpy as np
import pytest
import torch

from etlab import errors
from etlab.exir import to_edge_transform_and_lower
from etlab.runtime import Runtime
from etlab.testing import assert_same


@pytest.mark.parametrize(
    "name", ["mlp", "add", "image", "dynamic", "nested", "scaled", "views", "rows", "branches"]
)
def test_program_computes_what_eager_does(load, example, compiler, name):
    module, args, kwargs = example(name)
    method = load(name, compiler).load_method("forward")
    actual = method(*args, **kwargs)
    expected = module(*args, **kwargs)
    assert type(actual) is type(expected)
    leaves = torch.utils._pytree.tree_leaves
    for got, want in zip(leaves(actual), leaves(expected), strict=True):
        assert_same(got, want.detach())


def test_execute_takes_and_returns_flat_lists(load):
    method = load("nested").load_method("forward")
    first, second, scale, bias = (torch.full((n,), float(n)) for n in (3, 3, 3, 1))
    outputs = method.execute([first, second, scale, bias])
    assert [output.shape for output in outputs] == [(3,), (3,), (3,)]


def test_keyword_arguments_may_come_in_any_order(load, example):
    module, args, kwargs = example("nested")
    method = load("nested").load_method("forward")
    reversed_kwargs = dict(reversed(kwargs.items()))
    assert_same(method(*args, **reversed_kwargs)["sum"], module(*args, **kwargs)["sum"])


def test_wrong_nesting_is_shown_beside_the_exported_one(load):
    method = load("nested").load_method("forward")
    with pytest.raises(errors.InvalidArgumentError, match=r"nested as \(\(\(\*, \*\),\), \{'scale"):
        method(torch.zeros(3), scale=torch.zeros(3))


def test_outputs_survive_the_next_run(load, example):
    _, args, _ = example("mlp")
    method = load("mlp").load_method("forward")
    first = method.execute(args)[0]
    kept = first.clone()
    method.execute([args[0] * 3])
    assert torch.equal(first, kept)


def _strided(x):
    return torch.stack([x, x], -1)[..., 0]


@pytest.mark.parametrize("lay_out", [torch.clone, _strided, lambda x: x.t().contiguous().t()])
def test_input_that_the_model_updates_is_updated_for_the_caller(load, example, lay_out):
    module, (total, x), _ = example("update")
    method = load("update", "etlab").load_method("forward")
    actual, expected = lay_out(total), total.clone()
    for _ in range(2):
        assert torch.equal(method(actual, x), module(expected, x))
        assert torch.equal(actual, expected)


@pytest.mark.parametrize("convert", [torch.clone, lambda x: np.asarray(x).copy()[::-1]])
def test_updates_that_official_files_return_are_written_to_the_caller(load, example, convert):
    module, (total, x), _ = example("update")
    method = load("update", "official").load_method("forward")
    assert method.metadata.returned_inputs == {0: 0}
    assert len(method.execute([total, x])) == 2
    given = convert(total)
    expected = torch.tensor(np.asarray(given).copy())
    assert torch.equal(method(given, x), module(expected, x))
    assert np.array_equal(np.asarray(given).copy(), expected.numpy())
    with pytest.raises(errors.InvalidArgumentError, match="input 0: the model updates it in place"):
        method(_read_only(total.numpy()), x)


def _unaligned(array):
    raw = np.zeros(array.nbytes + 1, dtype=np.uint8)[1:]
    copy = raw.view(array.dtype).reshape(array.shape)
    copy[:] = array
    return copy


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: np.asarray(x).copy(),
        lambda x: np.asarray(x).copy()[::-1, ::-1],
        lambda x: np.asarray(x).copy().astype(">f4"),
        _unaligned,
        lambda x: np.asfortranarray(np.asarray(x).copy()),
    ],
    ids=["plain", "reversed", "big endian", "unaligned", "fortran"],
)
def test_array_that_the_model_updates_is_updated_in_its_own_layout(load, example, convert):
    module, (total, x), _ = example("update")
    method = load("update", "etlab").load_method("forward")
    given = convert(total.numpy())
    expected = torch.from_numpy(np.asarray(given).astype(np.float32))
    for _ in range(2):
        assert torch.equal(method(given, x), module(expected, x))
        assert np.array_equal(given, expected.numpy())


def test_negative_view_that_the_model_updates_is_updated(load, example):
    module, (total, x), _ = example("update")
    method = load("update", "etlab").load_method("forward")
    given = torch._neg_view(total.clone())
    expected = -total
    assert torch.equal(method(given, x), module(expected, x))
    assert torch.equal(given, expected)


def _read_only(x):
    array = np.asarray(x).copy()
    array.flags.writeable = False
    return array


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: _read_only(x.numpy()),
        lambda x: np.broadcast_to(np.float32(1), (2, 3)),
        lambda x: torch.ones(1, 3).expand(2, 3),
        lambda x: np.lib.stride_tricks.as_strided(np.ones(3, np.float32), (2, 3), (0, 4)),
        lambda x: np.lib.stride_tricks.as_strided(np.ones(4, np.float32), (2, 3), (4, 4)),
        lambda x: torch.ones(4).as_strided((2, 3), (1, 1)),
        lambda x: torch.ones(9).as_strided((2, 3), (4, 2)),
    ],
    ids=["read-only", "broadcast", "expanded", "overlapping", "sliding", "strided", "crossing"],
)
def test_input_that_cannot_take_the_update_is_refused_before_the_run(load, example, convert):
    _, (total, x), _ = example("update")
    method = load("update", "etlab").load_method("forward")
    with pytest.raises(errors.InvalidArgumentError, match="input 0: the model updates it in place"):
        method(convert(total), x)


class TwoUpdates(torch.nn.Module):
    def forward(self, first, second):
        first.add_(1)
        second.mul_(3)
        return first + second


@pytest.mark.parametrize(
    ("one", "other"), [(slice(6), slice(6)), (slice(6), slice(5, 11)), (slice(6), slice(2, 14, 2))]
)
def test_two_inputs_that_are_updated_over_one_another_are_refused(two_updates, one, other):
    whole = torch.arange(24.0)
    first, second = (whole[part].unflatten(0, (2, 3)) for part in (one, other))
    kept = first.clone()
    with pytest.raises(errors.InvalidArgumentError, match="inputs 0 and 1: the model updates both"):
        two_updates(first, second)
    assert torch.equal(first, kept)


@pytest.mark.parametrize(
    ("one", "other"), [(slice(6), slice(6, 12)), (slice(0, 12, 2), slice(1, 12, 2))]
)
def test_two_inputs_that_are_updated_side_by_side_run(two_updates, one, other):
    whole = torch.arange(24.0)
    first, second = (whole[part].unflatten(0, (2, 3)) for part in (one, other))
    expected = whole.clone()
    first_expected, second_expected = (expected[part].unflatten(0, (2, 3)) for part in (one, other))
    assert torch.equal(two_updates(first, second), TwoUpdates()(first_expected, second_expected))
    assert torch.equal(whole, expected)


class OneUpdate(torch.nn.Module):
    def forward(self, total, x):
        total.add_(1)
        return total + x


@pytest.fixture(scope="module")
def one_update():
    exported = torch.export.export(OneUpdate(), (torch.ones(2, 3), torch.ones(2, 3)))
    program = to_edge_transform_and_lower(exported).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


@pytest.mark.parametrize(("one", "other"), [(slice(6), slice(6)), (slice(6), slice(2, 14, 2))])
def test_an_input_that_would_be_read_with_its_old_values_is_refused(one_update, one, other):
    whole = torch.arange(24.0)
    total, x = (whole[part].unflatten(0, (2, 3)) for part in (one, other))
    kept = whole.clone()
    with pytest.raises(errors.InvalidArgumentError, match="inputs 0 and 1: the model updates the"):
        one_update(total, x)
    assert torch.equal(whole, kept)
    expected = OneUpdate()(total.clone(), x.clone())
    assert torch.equal(one_update(total, x.clone()), expected)


def test_an_input_beside_the_updated_one_runs(one_update):
    whole = torch.arange(24.0)
    total, x = (whole[part].unflatten(0, (2, 3)) for part in (slice(6), slice(6, 12)))
    assert torch.equal(one_update(total, x), torch.arange(6.0).reshape(2, 3) * 2 + 7)


@pytest.fixture(scope="module")
def two_updates():
    exported = torch.export.export(TwoUpdates(), (torch.ones(2, 3), torch.ones(2, 3)))
    program = to_edge_transform_and_lower(exported).to_executorch()
    return Runtime.get().load_program(program.buffer).load_method("forward")


def test_failed_run_leaves_the_input_that_it_would_update(load, example):
    _, (total, x), _ = example("update")
    method = load("update", "etlab").load_method("forward")
    kept = total.clone()
    with pytest.raises(errors.InvalidArgumentError):
        method.execute([total, x[0]])
    assert torch.equal(total, kept)


@pytest.mark.parametrize("value", [3, None, torch.zeros(3), np.zeros(3), {"x": 1}])
def test_execute_wants_a_list(load, value):
    method = load("mlp").load_method("forward")
    with pytest.raises(errors.InvalidArgumentError, match=r"takes a (flat )?list of inputs, got"):
        method.execute(value)


def test_nested_lists_are_no_tensors(load):
    method = load("mlp").load_method("forward")
    with pytest.raises(errors.InvalidArgumentError, match="a list cannot be read as a tensor"):
        method.execute([[[1.0] * 5] * 2])


@pytest.mark.parametrize("value", [2**70, "\udce4"])
def test_values_that_no_program_holds_are_refused(load, value):
    method = load("scaled").load_method("forward")
    with pytest.raises(
        errors.InvalidArgumentError, match="input 1: no value of a program can hold"
    ):
        method.execute([torch.zeros(3), value])


def test_inputs_are_not_changed_by_a_run(load):
    method = load("counter").load_method("forward")
    x = torch.ones(3)
    method.execute([x])
    assert torch.equal(x, torch.ones(3))


@pytest.mark.parametrize(
    "convert",
    [
        lambda x: x.to(memory_format=torch.channels_last),
        lambda x: x.transpose(1, 3).contiguous().transpose(1, 3),
        lambda x: torch.cat([x, x], dim=3)[..., ::2],
        lambda x: x[:, :, :, :1].expand(x.shape),
        lambda x: x.flip(3),
    ],
    ids=["channels_last", "transposed", "strided", "expanded", "flipped"],
)
def test_inputs_of_any_layout_are_read_right(load, example, convert):
    _, (x, y), _ = example("image")
    method = load("image").load_method("forward")
    x = convert(x)
    assert_same(method.execute([x, y])[0], x + y)


class _OnlyDlpack:
    def __init__(self, tensor):
        self._tensor = tensor

    def __dlpack__(self, **kwargs):
        return self._tensor.__dlpack__(**kwargs)

    def __dlpack_device__(self):
        return self._tensor.__dlpack_device__()


@pytest.mark.parametrize(
    "convert",
    [
        torch.Tensor.numpy,
        lambda x: x.numpy()[:, ::-1][:, ::-1],
        lambda x: np.ascontiguousarray(x.numpy().T).T,
        lambda x: x.numpy().astype(">f4"),
        _OnlyDlpack,
        torch.nn.Parameter,
    ],
    ids=["numpy", "reversed", "fortran", "big endian", "dlpack", "parameter"],
)
def test_arrays_of_other_kinds_are_inputs(load, example, convert):
    module, (x,), _ = example("mlp")
    method = load("mlp").load_method("forward")
    assert_same(method.execute([convert(x)])[0], module(x).detach())


def test_read_only_arrays_are_inputs(load, example):
    module, (x,), _ = example("mlp")
    array = x.numpy().copy()
    array.flags.writeable = False
    method = load("mlp").load_method("forward")
    assert_same(method.execute([array])[0], module(x).detach())


def test_inputs_are_lent_when_nothing_writes_or_views_them(load):
    method = load("add").load_method("forward")
    assert method._native.can_alias_input(0)
    assert method._native.can_alias_input(1)


def test_dynamic_sizes_run_at_every_size_up_to_the_bound(load, example, compiler):
    module, _, _ = example("dynamic")
    method = load("dynamic", compiler).load_method("forward")
    for batch in (8, 1, 3):
        x = torch.randn(batch, 5)
        assert_same(method.execute([x])[0], module(x).detach())


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        ([], "method 'forward': expected 2 inputs, got 0"),
        ([torch.zeros(3, 5)] * 3, "expected 2 inputs, got 3"),
        ([torch.zeros(3, 5), 1.0], r"input 1: expected Tensor float32\[5\], got float 1"),
        (
            [torch.zeros(3, 5), torch.zeros(5, dtype=torch.int64)],
            r"input 1: expected dtype float32 \(float32\[5\]\), got int64\[5\]; convert it with",
        ),
        ([torch.zeros(3, 5), torch.zeros(1, 5)], "input 1: expected 1 dimensions"),
        ([torch.zeros(3, 4), torch.zeros(5)], "input 0: expected size 5 in dimension 1"),
        ([torch.zeros(3, 5), "text"], "input 1: expected Tensor"),
        ([torch.zeros(3, 5), object()], "input 1: a object cannot be read as a tensor"),
        ([torch.zeros(3, 5), torch.zeros(5).to_sparse()], "input 1: expected a dense tensor"),
        ([torch.zeros(3, 5), torch.zeros(5, device="meta")], "input 1: the tensor is on meta"),
        ([torch.zeros(3, 5), torch.zeros(5).to(torch.float8_e5m2)], "float8_e5m2 is not supported"),
        (torch.zeros(3, 5), "takes a list of inputs, got one Tensor"),
    ],
)
def test_wrong_inputs_are_refused_in_words(load, inputs, message):
    method = load("add").load_method("forward")
    with pytest.raises(errors.EtlabError, match=message):
        method.execute(inputs)
    good = [torch.ones(3, 5), torch.ones(5)]
    assert_same(method.execute(good)[0], torch.full((3, 5), 2.0))


def test_sizes_over_the_bound_name_dimension_and_bound(load):
    method = load("dynamic").load_method("forward")
    with pytest.raises(
        errors.InvalidArgumentError, match="size 9 of dimension 0 is over the bound of 8"
    ):
        method.execute([torch.zeros(9, 5)])


def test_numbers_must_be_the_exported_ones(load):
    method = load("scaled").load_method("forward")
    x = torch.tensor([-1.0, 2.0, 3.0])
    assert_same(method.execute([x, 0.5])[0], torch.tensor([0.0, 4.0, 6.0]))
    with pytest.raises(errors.InvalidArgumentError, match=r"exported with float 0\.5"):
        method.execute([x, 0.75])


def test_both_branches_run_one_after_the_other(load, example, compiler):
    module, (_, x), _ = example("branches")
    method = load("branches", compiler).load_method("forward")
    for flag in (True, False, True):
        assert_same(method.execute([torch.tensor(flag), x])[0], module(torch.tensor(flag), x))
