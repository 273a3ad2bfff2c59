"""The CMake package, as another project uses it: docs/example, built against an installed tree."""

import subprocess
from pathlib import Path

import pytest
import torch
from devices.programs import export
from small_models import Mlp

import etlab
from etlab.devices import Build, build

EXAMPLE = Path(__file__).parents[2] / "docs/example"


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Build:
    """The runtime of the developer's build, installed; nothing is compiled again."""
    return build(tmp_path_factory.mktemp("runtime"))


@pytest.fixture(scope="module")
def example(installed: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    tree = tmp_path_factory.mktemp("example")
    configure = ["cmake", "-S", EXAMPLE, "-B", tree, "-DCMAKE_BUILD_TYPE=Release"]
    for words in (
        [*configure, f"-DCMAKE_PREFIX_PATH={installed.folder}"],
        ["cmake", "--build", tree],
    ):
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
    return tree / "run_on_ones"


def _run(example: Path, program: Path) -> list[float]:
    done = subprocess.run([example, program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [float(word) for word in done.stdout.partition("]")[2].split()]


def test_a_program_runs_in_another_cmake_project(example: Path, tmp_path: Path) -> None:
    run = export(Mlp, 2, 5)
    found = _run(example, run.save(tmp_path / "mlp.pte"))
    expected = run.model(torch.ones(2, 5)).flatten().tolist()
    assert found == pytest.approx(expected, abs=1e-5)


def test_the_users_own_kernel_registers_itself(example: Path, tmp_path: Path) -> None:
    library = torch.library.Library("example", "DEF")
    library.define("twice(Tensor x) -> Tensor")
    library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl("twice", lambda x: x + x, "CompositeExplicitAutograd")
    library.impl("twice.out", lambda x, *, out: out.copy_(x + x), "CompositeExplicitAutograd")

    class Twice(torch.nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return torch.ops.example.twice(x) + 0.5

    try:
        run = etlab.export(Twice(), (torch.ones(3),))
        assert _run(example, run.save(tmp_path / "twice.pte")) == [2.5, 2.5, 2.5]
    finally:
        library._destroy()


def test_an_error_is_a_sentence_in_the_users_program(example: Path, tmp_path: Path) -> None:
    (tmp_path / "bad.pte").write_bytes(b"no program at all")
    words = [example, tmp_path / "bad.pte"]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert len(done.stderr.splitlines()) == 1


def test_the_installed_runner_runs(installed: Build, tmp_path: Path) -> None:
    program = export(Mlp, 2, 5).save(tmp_path / "mlp.pte")
    done = subprocess.run([installed.runner, program], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert installed.nbytes == installed.runner.stat().st_size
