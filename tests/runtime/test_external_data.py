import pytest
import torch

from etlab import errors
from etlab.runtime import Runtime
from etlab.testing import assert_same


class Model(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.linear = torch.nn.Linear(5, 3)

    def forward(self, x):
        return self.linear(x)


@pytest.fixture(scope="module")
def external(tmp_path_factory):
    """(path of the program, path of its .ptd file) of a linear layer."""
    exir = pytest.importorskip("executorch.exir", reason="executorch is not installed")
    folder = tmp_path_factory.mktemp("external")
    exported = torch.export.export(Model(), (torch.ones(2, 5),))
    config = exir.ExecutorchBackendConfig(external_constants=True)
    manager = exir.to_edge(exported).to_executorch(config)
    manager.write_tensor_data_to_file(str(folder))
    (folder / "model.pte").write_bytes(manager.buffer)
    (tensor_file,) = folder.glob("*.ptd")
    return folder / "model.pte", tensor_file


@pytest.mark.parametrize("memory_map", [False, True])
def test_weights_come_from_the_tensor_file(external, memory_map):
    program, tensor_file = external
    x = torch.randn(2, 5)
    runtime = Runtime.get()
    loaded = runtime.load_program(program, data_path=tensor_file, memory_map=memory_map)
    assert_same(loaded.load_method("forward").execute([x])[0], Model()(x).detach())
    loaded = runtime.load_program(program.read_bytes(), data_path=[tensor_file])
    assert_same(loaded.load_method("forward").execute([x])[0], Model()(x).detach())


def test_missing_tensor_file_names_the_tensor(external):
    program = Runtime.get().load_program(external[0])
    with pytest.raises(errors.NotFoundError, match=r"'linear.*pass the .ptd file that was saved"):
        program.load_method("forward")


def test_name_in_two_tensor_files_is_refused(external):
    with pytest.raises(errors.InvalidProgramError, match="stands in two of them"):
        Runtime.get().load_program(external[0], data_path=[external[1], external[1]])


def test_damaged_tensor_files_end_in_an_error_or_a_run(external, tmp_path):
    program, tensor_file = external
    good = tensor_file.read_bytes()
    path = tmp_path / "damaged.ptd"
    refused = 0
    damaged = [good[:length] for length in (0, 4, 12, 47, 60, len(good) // 2, len(good) - 1)]
    for offset in range(min(len(good), 420)):
        for value in (0x00, 0x01, 0x7F, 0x80, 0xFF):
            damaged.append(good[:offset] + bytes([value]) + good[offset + 1 :])
    for data in damaged:
        path.write_bytes(data)
        try:
            method = Runtime.get().load_program(program, data_path=path).load_method("forward")
            method.execute([torch.ones(2, 5)])
        except errors.EtlabError:
            refused += 1
    assert refused > 300


def test_other_files_are_no_tensor_files(external):
    with pytest.raises(errors.InvalidProgramError, match="'FT01FH01' there"):
        Runtime.get().load_program(external[0], data_path=external[0])
