"""Selective builds: what programs need, and a runtime that has no more."""

import re
import subprocess
from pathlib import Path

import numpy as np
import pytest
import torch
from devices.programs import export
from small_models import Mlp

import etlab
from etlab.commands import main
from etlab.devices import DeviceAbsentError, build
from etlab.devices.builder import source_root
from etlab.devices.selection import select
from etlab.errors import InvalidArgumentError, InvalidProgramError, NotFoundError
from etlab.runtime import _native

KERNELS = Path(__file__).parents[2] / "runtime/kernels"


class Fmod(torch.nn.Module):
    """One operator, and one that has only a portable kernel."""

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        return torch.fmod(x, y)


def _fmod(dtype: torch.dtype) -> etlab.ExportRun:
    x = torch.tensor([-7, 5, 9]).to(dtype)
    return etlab.export(Fmod(), (x, torch.tensor([3, -4, 2]).to(dtype)))


def test_a_selection_names_operators_with_their_dtypes() -> None:
    selection = select([export(Mlp, 2, 5).file.data, _fmod(torch.int32).file.data])
    assert selection.operators["aten::fmod.Tensor_out"] == {
        torch.int32,
        torch.int64,  # sums and numbers
        torch.float32,  # what integers become
    }
    assert set(selection.operators["aten::relu.out"]) == {torch.float32}
    assert selection.without_kernel == []
    assert selection.backends == ()


def test_a_selection_leaves_out_the_files_of_other_operators() -> None:
    left_out = select([_fmod(torch.float32).file.data]).left_out_files()
    assert "portable/fmod.cpp" not in left_out
    assert {"portable/relu.cpp", "portable/add.cpp", "optimized/.*"} <= set(left_out)
    assert all((KERNELS / name).is_file() for name in left_out[1:])


def test_fast_kernels_stay_with_what_they_share() -> None:
    left_out = select([export(Mlp, 2, 5).file.data]).left_out_files()
    assert "optimized/softmax.cpp" in left_out
    assert not {"optimized/linear.cpp", "optimized/.*"} & set(left_out)


def test_operators_of_one_file_share_their_dtypes() -> None:
    """Shared code dispatches under the name of one of them."""

    class Both(torch.nn.Module):
        def forward(self, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
            return torch.fmod(x, x), torch.fmod(y, 3)

    x, y = torch.ones(3, dtype=torch.float64), torch.ones(3, dtype=torch.int16)
    operators = select([etlab.export(Both(), (x, y)).file.data]).operators
    assert len({frozenset(dtypes) for dtypes in operators.values()}) == 1
    assert {torch.float64, torch.int16} <= operators["aten::fmod.Tensor_out"]


def test_reduced_floats_are_selected_with_what_they_are_computed_in() -> None:
    dtypes = select([_fmod(torch.bfloat16).file.data]).operators["aten::fmod.Tensor_out"]
    assert dtypes == {torch.bfloat16, torch.float32}


def test_a_kernel_file_asks_only_for_dtypes_of_operators_that_it_registers() -> None:
    """The name given to `dispatch` decides which dtypes a selective build has there."""
    wrong = []
    for path in sorted(KERNELS.rglob("*.cpp")):
        text = re.sub(r"//.*", "", path.read_text())
        # What a function returns is the name of the operator that asked.
        named = set(re.findall(r'(?<!return )"(\w+::[\w.]+)"', text))
        registered = set(re.findall(r'_KERNEL\(\s*"(\w+::[\w.]+)"', text))
        wrong += [f"{path.name}: {name}" for name in named - registered if _is_operator(name)]
    assert not wrong


def _is_operator(name: str) -> bool:
    return name in _native.operator_names()


def test_damaged_programs_and_wrong_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidProgramError):
        select([b"no program"])
    with pytest.raises(NotFoundError, match="host, aarch64"):
        build(tmp_path, target="abacus")
    with pytest.raises(InvalidArgumentError, match="output folder"):
        build(programs=[tmp_path / "a.pte"])
    with pytest.raises(DeviceAbsentError, match="clone the repository"):
        build(tmp_path, source=tmp_path)


def test_a_selective_build_runs_its_program_and_no_other(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _fmod(torch.int32)
    programs = {
        "mine": run.save(tmp_path / "mine.pte"),
        "other operator": export(Mlp, 2, 5).save(tmp_path / "mlp.pte"),
        "other dtype": _fmod(torch.float64).save(tmp_path / "double.pte"),
    }
    # Kept between runs of the tests: compiled again only where the sources changed.
    folder = source_root() / "build/devices/selection-test"
    words = ["build", "--select", programs["mine"], "--output", folder]
    assert main([*map(str, words)]) == 0
    said = capsys.readouterr().out
    assert "aten::fmod.Tensor_out: float32, int32, int64" in said

    for name, dtype in [("x", np.int32), ("d", np.float64)]:
        np.save(tmp_path / f"{name}.npy", np.array([-7, 5, 9], dtype))
    inputs = {"mine": ["x.npy", "x.npy"], "other operator": [], "other dtype": ["d.npy", "d.npy"]}
    results = {
        name: subprocess.run(
            [folder / "bin/etlab-run", program, *(["--inputs", *given] if given else [])],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        for (name, program), given in zip(programs.items(), inputs.values(), strict=True)
    }
    assert "output 0: Tensor int32[3]" in results["mine"].stdout
    assert "operator missing" in results["other operator"].stderr
    assert "float64 is not supported" in results["other dtype"].stderr
    assert "a selective build" in results["other dtype"].stderr
