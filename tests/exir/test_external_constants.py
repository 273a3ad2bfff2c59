"""Constants outside of the program: what is written, and that both runtimes read it."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from torch.export.graph_signature import OutputKind, OutputSpec, TensorArgument

import etlab
from etlab.errors import AccessError, InvalidArgumentError, NotFoundError
from etlab.exir import ExecutorchBackendConfig, to_edge
from etlab.exir.emit.flat_tensor import FILE_IDENTIFIER, FlatTensor
from etlab.exir.emit.reader import read_flatbuffer
from etlab.exir.external import mark_external
from etlab.exir.to_out import schedule_method
from etlab.numerics.official import OfficialRuntime, is_available
from etlab.runtime import Runtime
from etlab.testing import assert_same

DEFAULT = "_default_external_constant"


class Tied(torch.nn.Module):
    """A layer used under two names, weights in channels-last order, and a constant of the code."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.conv = torch.nn.Conv2d(3, 5, 3).to(memory_format=torch.channels_last)
        self.first = torch.nn.Linear(5, 5)
        self.second = torch.nn.Linear(5, 5)
        self.second.weight = self.first.weight
        self.register_buffer("scale", torch.tensor([1.0, -2.0, 3.0, 0.5, 7.0]))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = self.conv(x).mean((2, 3))
        x = self.second(self.first(x).relu()) * self.scale
        return x + torch.tensor([3.0, 1.0, 2.0, 0.0, 5.0])


def inputs() -> tuple[torch.Tensor, ...]:
    return (torch.randn(2, 3, 5, 7, generator=torch.Generator().manual_seed(1)),)


def lower(model: torch.nn.Module, args: tuple[Any, ...], external: Any = True) -> Any:
    exported = torch.export.export(model.eval(), args, strict=False)
    return to_edge(exported).to_executorch(ExecutorchBackendConfig(external_constants=external))


def contents(data: bytes) -> FlatTensor:
    result = read_flatbuffer(data, FlatTensor, identifier=FILE_IDENTIFIER)
    assert isinstance(result, FlatTensor)
    return result


def test_both_runtimes_compute_what_eager_does() -> None:
    model, args = Tied(), inputs()
    manager = lower(model, args)
    data = manager.data_files()[f"{DEFAULT}.ptd"]
    with torch.no_grad():
        expected = model(*args)
    method = Runtime.get().load_program(manager.buffer, data_path=data).load_method("forward")
    assert method is not None
    assert_same(method.execute(args)[0], expected)
    if not is_available():
        pytest.skip("executorch is not installed")
    with OfficialRuntime(manager.buffer, tensor_data=data) as official:
        assert_same(official.execute(args)[0], expected)


def test_file_holds_each_content_once_under_sorted_qualified_names() -> None:
    manager = lower(Tied(), inputs())
    data = manager._tensor_data[DEFAULT]
    root = contents(data)
    named = {one.key: one for one in root.named_data or ()}
    assert list(named) == sorted(named)
    assert {"first.weight", "first.bias", "second.bias", "scale", "conv.bias"} <= set(named)
    assert not any("lifted_tensor" in str(key) for key in named)
    places = root.segments or ()
    assert len({place.offset for place in places}) == len(places)
    assert all(place.offset % 128 == 0 for place in places)
    assert data == lower(Tied(), inputs())._tensor_data[DEFAULT]
    assert len(manager.buffer) < len(lower(Tied(), inputs(), False).buffer)


def test_tied_weights_share_a_segment() -> None:
    class Twice(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = torch.nn.Parameter(torch.arange(3.0))
            self.b = torch.nn.Parameter(torch.arange(3.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x + self.a) * self.b

    root = contents(lower(Twice(), (torch.ones(3),))._tensor_data[DEFAULT])
    assert [(one.key, one.segment_index) for one in root.named_data or ()] == [("a", 0), ("b", 0)]


def choose(node: torch.fx.Node) -> str | None:
    return {"p_first_bias": "biases", "b_scale": "scales.ptd"}.get(node.name)


def test_a_function_names_the_file_of_each_constant(tmp_path: Path) -> None:
    model, args = Tied(), inputs()
    manager = lower(model, args, choose)
    manager.save(tmp_path / "model.pte")
    manager.write_tensor_data_to_file(tmp_path)
    assert sorted(path.name for path in tmp_path.glob("*.ptd")) == ["biases.ptd", "scales.ptd"]
    keys = [one.key for one in contents((tmp_path / "biases.ptd").read_bytes()).named_data or ()]
    assert keys == ["first.bias"]
    files = [tmp_path / "biases.ptd", tmp_path / "scales.ptd"]
    with torch.no_grad():
        assert_same(etlab.load(tmp_path / "model.pte", data=files).run(args)[0], model(*args))


@pytest.mark.parametrize("bad", [lambda _: "a/b", lambda _: "..", lambda _: "", lambda _: 3])
def test_a_function_that_names_no_file_is_refused(bad: Callable[[Any], Any]) -> None:
    with pytest.raises(InvalidArgumentError, match="external_constants gave"):
        lower(torch.nn.Linear(3, 5), (torch.ones(1, 3),), bad)


def test_methods_with_other_tensors_of_one_name_both_keep_theirs() -> None:
    torch.manual_seed(0)
    models = {"a": torch.nn.Linear(3, 5), "b": torch.nn.Linear(3, 5), "c": torch.nn.Linear(3, 4)}
    args = (torch.ones(1, 3),)
    exported = {name: torch.export.export(model, args) for name, model in models.items()}
    config = ExecutorchBackendConfig(external_constants=True)
    manager = to_edge(exported).to_executorch(config)
    [data] = manager.data_files().values()
    assert {one.key for one in contents(data).named_data or ()} == {
        *("weight", "bias", "b.weight", "b.bias", "c.weight", "c.bias")
    }
    program = Runtime.get().load_program(manager.buffer, data_path=data)
    for name, model in models.items():
        method = program.load_method(name)
        assert method is not None
        assert_same(method.execute(args)[0], model(*args).detach())


def test_a_view_of_an_external_constant_runs_in_both_runtimes() -> None:
    class Viewed(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = torch.nn.Parameter(torch.arange(15.0))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return x + self.weight.view(3, 5) + self.weight.sum()

    args = (torch.ones(3, 5),)
    manager = lower(Viewed(), args)
    [data] = manager.data_files().values()
    method = Runtime.get().load_program(manager.buffer, data_path=data).load_method("forward")
    assert method is not None
    assert_same(method.execute(args)[0], Viewed()(*args).detach())
    if not is_available():
        pytest.skip("executorch is not installed")
    with OfficialRuntime(manager.buffer, tensor_data=data) as official:
        assert_same(official.execute(args)[0], Viewed()(*args).detach())


def test_branches_state_and_returned_constants_are_right_in_both_runtimes() -> None:
    class Odd(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            torch.manual_seed(0)
            self.a = torch.nn.Parameter(torch.randn(5))
            self.b = torch.nn.Parameter(torch.randn(5))
            self.register_buffer("rank_0", torch.tensor(2.5))
            self.register_buffer("empty", torch.zeros(0, 5))
            self.register_buffer("mask", torch.tensor([True, False, True, True, False]))
            self.register_buffer("count", torch.ones(5))

        def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            self.count.add_(1)
            y = torch.cond(x.sum() > 0, lambda x: x * self.a, lambda x: x - self.b, (x,))
            y = torch.cat([y, self.empty]) * self.rank_0
            return torch.where(self.mask, y, self.count), self.a

    samples = [(torch.ones(2, 5),), (-torch.ones(2, 5),)]
    manager = lower(Odd(), samples[0])
    [data] = manager.data_files().values()
    keys = [one.key for one in contents(data).named_data or ()]
    assert keys == ["a", "b", "empty", "mask", "rank_0"]
    method = Runtime.get().load_program(manager.buffer, data_path=data).load_method("forward")
    assert method is not None
    model = Odd()
    with torch.no_grad():
        expected = [[value.clone() for value in model(*args)] for args in samples]
    for args, wanted in zip(samples, expected, strict=True):
        for found, value in zip(method.execute(args), wanted, strict=True):
            assert_same(found, value)
    if not is_available():
        pytest.skip("executorch is not installed")
    with OfficialRuntime(manager.buffer, tensor_data=data) as official:
        for args, wanted in zip(samples, expected, strict=True):
            for found, value in zip(official.execute(args), wanted, strict=True):
                assert_same(found, value)


def test_run_saves_its_data_beside_the_program(tmp_path: Path) -> None:
    model, args = Tied(), inputs()
    config = ExecutorchBackendConfig(external_constants=True)
    run = etlab.export(model, args, backend_config=config)
    path = run.save(tmp_path / "model.pte")
    with torch.no_grad():
        expected = model(*args)
    assert_same(run.run(args), expected)
    if is_available():
        assert_same(run.run(args, path="official"), expected)
    loaded = etlab.load(path, data=tmp_path / "model.ptd")
    assert_same(loaded.run(args)[0], expected)
    loaded.save(tmp_path / "again.pte")
    assert sorted(path.name for path in tmp_path.glob("*.ptd")) == ["again.ptd", "model.ptd"]
    assert run.delegation(runs=1).by_op is not None
    report = run.size()
    assert report.total == sum(file.stat().st_size for file in (path, tmp_path / "model.ptd"))
    assert report.total == sum(entry.nbytes for entry in report.entries)
    stored = next(entry for entry in report.entries if entry.kind == "external")
    assert (stored.dtype, stored.nbytes) == ("float", 4 * math.prod(stored.shape))
    assert loaded.size().by_kind == report.by_kind


def test_no_two_data_files_are_saved_as_one(tmp_path: Path) -> None:
    files = {f"{DEFAULT}.ptd": b"1", "cat.ptd": b"2", "biases.ptd": b"3"}
    for name, expected in (
        ("cat", {"cat.ptd": b"2", f"{DEFAULT}.ptd": b"1", "biases.ptd": b"3"}),
        ("dog", {"dog.ptd": b"2", f"{DEFAULT}.ptd": b"1", "biases.ptd": b"3"}),
        ("biases", files),
    ):
        folder = tmp_path / name
        folder.mkdir()
        etlab.ProgramFile(b"", name="cat.pte", tensor_data=files).save(folder / f"{name}.pte")
        found = {path.name: path.read_bytes() for path in folder.glob("*.ptd")}
        assert found == expected


def test_a_program_without_its_data_says_which_tensor_and_what_to_pass(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 5)
    lower(model, (torch.ones(1, 3),)).save(tmp_path / "model.pte")
    with pytest.raises(NotFoundError, match=r"'weight' is in none.*etlab\.load: data"):
        etlab.load(tmp_path / "model.pte").run((torch.ones(1, 3),))


def test_nothing_is_written_for_a_program_that_holds_its_constants(tmp_path: Path) -> None:
    manager = lower(torch.nn.Linear(3, 5), (torch.ones(1, 3),), False)
    manager.write_tensor_data_to_file(tmp_path)
    assert not manager.data_files()
    assert not list(tmp_path.iterdir())


def test_data_is_refused_once_a_weight_changed_and_where_no_folder_is(tmp_path: Path) -> None:
    model = torch.nn.Linear(3, 5)
    manager = lower(model, (torch.ones(1, 3),))
    with pytest.raises(AccessError, match="does not exist"):
        manager.write_tensor_data_to_file(tmp_path / "nowhere")
    with torch.no_grad():
        model.weight.add_(1)
    with pytest.raises(InvalidArgumentError, match="changed in place"):
        manager.write_tensor_data_to_file(tmp_path)


def test_weights_that_are_trained_can_be_outside_alone() -> None:
    exported = torch.export.export(torch.nn.Linear(3, 5), (torch.ones(1, 3),))
    graph = to_edge(exported).edge_graph("forward")
    schedule = schedule_method(graph)
    gradient = OutputSpec(OutputKind.GRADIENT_TO_PARAMETER, TensorArgument("gradient"), "weight")
    graph.outputs = [*graph.outputs, gradient]
    mark_external(schedule, graph, False, mutable_weights=True)
    tags = {value.target: value.external_tag for call in schedule.calls for value in call.values()}
    assert (tags["weight"], tags["bias"]) == (DEFAULT, None)
