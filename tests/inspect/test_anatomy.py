"""What files are made of: segments, delegates, duplicates, tensors outside; official ones too."""

import dataclasses

import pytest
import torch
from torch import nn

import etlab
from etlab.commands import main
from etlab.devtools import BundledProgram, MethodTestCase, MethodTestSuite
from etlab.errors import InvalidProgramError, NotFoundError
from etlab.exir import ExecutorchBackendConfig, to_edge
from etlab.exir.emit.file import Segment, assemble, read_program


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(8, 8, bias=False)
        self.second = nn.Linear(8, 8, bias=False)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.topk(self.second(torch.relu(self.first(x))), 2).values


@pytest.fixture(scope="module", params=["none", "xnnpack"])
def run(request):
    torch.manual_seed(0)
    partitioner = None if request.param == "none" else request.param
    return etlab.export(Net().eval(), (torch.randn(2, 8),), partitioner=partitioner, name="net")


def with_backend(data: bytes, name: str) -> bytes:
    """The program with all delegates given to another backend."""
    file = read_program(data)
    plans = tuple(
        dataclasses.replace(
            plan,
            delegates=tuple(dataclasses.replace(d, id=name) for d in plan.delegates or ()),
        )
        for plan in file.program.execution_plan or ()
    )
    program = dataclasses.replace(file.program, execution_plan=plans)
    segments = [Segment(len(one), [(0, one)]) for one in file.segments]
    return assemble(program, segments)[0].to_bytes()


def test_segments_lie_within_the_file_and_say_what_they_hold(run):
    anatomy = run.file.anatomy
    assert anatomy.header.identifier == "ET12"
    assert anatomy.header.nbytes == len(run.file.data)
    assert anatomy.header.has_extended_header
    for segment in anatomy.segments:
        assert segment.at >= anatomy.header.segments_at >= anatomy.header.program_nbytes
        assert segment.at + segment.nbytes <= len(run.file.data)
    holds = " ".join(segment.holds for segment in anatomy.segments)
    assert ("XnnpackBackend of forward" in holds) == (run.partitioner == "xnnpack")
    assert "Anatomy(net.pte" in repr(anatomy)
    assert "extended header" in str(anatomy)
    assert "Anatomy of net.pte" in anatomy._repr_html_()


def test_delegates_are_decoded(run):
    delegates = run.file.anatomy.delegates
    if run.partitioner == "none":
        assert not delegates
        return
    (delegate,) = delegates
    assert (delegate.backend, delegate.calls, delegate.nodes) == ("XnnpackBackend", 1, 2)
    assert delegate.kinds == "2 FullyConnected"
    assert "FullyConnected(" in run.file.delegate_text()
    assert run.file.delegate_text().splitlines()[0].startswith("xnnpack graph")
    assert "FullyConnected(" in run.file.dump(delegates=True)
    with pytest.raises(NotFoundError, match="has 1 delegates"):
        run.file.delegate_text(index=1)


def test_unknown_backends_and_damaged_payloads_are_shown_as_such(run):
    if run.partitioner == "none":
        return
    unknown = etlab.ProgramFile(with_backend(run.file.data, "SomebodysBackend"))
    (delegate,) = unknown.anatomy.delegates
    assert (delegate.backend, delegate.nodes, delegate.kinds) == (
        "SomebodysBackend", None, "unknown backend",
    )  # fmt: skip
    assert unknown.delegate_text().startswith("unknown backend 'SomebodysBackend': ")
    assert not unknown.backends()[0].is_available
    damaged = bytearray(run.file.data)
    place = next(s for s in run.file.anatomy.segments if "Xnnpack" in s.holds)
    damaged[place.at : place.at + 64] = bytes(64)
    (delegate,) = etlab.ProgramFile(bytes(damaged)).anatomy.delegates
    assert "cannot be read" in delegate.kinds


def test_what_is_stored_twice_is_found():
    model = Net().eval()
    exported = torch.export.export(model, (torch.randn(2, 8),))
    data = bytes(to_edge(exported).to_executorch().buffer)
    weight = model.first.weight.detach().numpy().tobytes()
    other = model.second.weight.detach().numpy().tobytes()
    assert not etlab.ProgramFile(data).anatomy.duplicates
    (row,) = etlab.ProgramFile(data.replace(other, weight)).anatomy.duplicates
    assert (row.nbytes, row.count, row.wasted) == (256, 2, 256)
    assert "constant 1 float[8x8]" in row.what


def test_bytes_are_told_by_operator(run):
    size = run.file.size()
    assert sum(size.by_operator.values()) <= size.total
    reader = "XnnpackBackend" if run.partitioner == "xnnpack" else "aten::linear.out"
    assert reader in size.by_operator
    if run.partitioner == "none":
        assert size.by_operator[reader] == 2 * 256


def test_files_of_tensors_are_opened(tmp_path):
    model = Net().eval()
    exported = torch.export.export(model, (torch.randn(2, 8),))
    program = to_edge(exported).to_executorch(ExecutorchBackendConfig(external_constants=True))
    program.write_tensor_data_to_file(tmp_path)
    (path,) = tmp_path.glob("*.ptd")
    file = etlab.load(path)
    assert isinstance(file, etlab.TensorDataFile)
    assert {t.key: (t.dtype, t.shape, t.nbytes) for t in file.tensors} == dict.fromkeys(
        ("first.weight", "second.weight"), ("float32", (8, 8), 256)
    )
    assert list(file.to_dataframe().key) == [tensor.key for tensor in file.tensors]
    assert "first.weight" in str(file)
    data = path.read_bytes()
    for cut in (8, 20, 47, 60, len(data) // 2, len(data) - 1):
        path.write_bytes(data[:cut])
        with pytest.raises(InvalidProgramError):
            etlab.load(path)
    for place in range(8, 200):
        damaged = bytearray(data)
        damaged[place] ^= 0x81
        path.write_bytes(damaged)
        try:
            _ = etlab.load(path).tensors
        except InvalidProgramError:
            continue


def test_bundled_programs_are_opened_as_the_program_inside(run, tmp_path):
    case = MethodTestCase(run.example_inputs)
    BundledProgram(run.program, [MethodTestSuite("forward", [case])]).save(tmp_path / "n.bpte")
    assert etlab.load(tmp_path / "n.bpte").data == run.file.data


def test_commands_print_and_say_how_it_went(run, tmp_path, capsys):
    path = str(run.save(tmp_path / "net.pte"))
    assert main(["inspect", path, "--dump", "--delegates"]) == 0
    shown = capsys.readouterr().out
    assert "ET12 version 0" in shown
    assert "aten::topk.values" in shown
    assert ("FullyConnected" in shown) == (run.partitioner == "xnnpack")
    for by in ("kind", "operator", "part"):
        assert main(["size", path, "--by", by]) == 0
        assert f"total {len(run.file.data):,} bytes" in capsys.readouterr().out
    assert main(["size", path, "--most", "100"]) == 1
    assert "bytes more than 100" in capsys.readouterr().out
    assert main(["inspect", str(tmp_path / "absent")]) == 1
