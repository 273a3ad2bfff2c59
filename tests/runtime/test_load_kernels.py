import shutil
import subprocess
from pathlib import Path

import pytest
import torch

import etlab
from etlab import errors
from etlab.runtime import Runtime, load_kernels, unregister_kernel

ROOT = Path(__file__).parent.parent.parent

SOURCE = """
#include "runtime/core/kernel_table.h"

namespace {

// out = x * factor where x is float32; other types are refused.
void scale_out(etlab::Context&, const etlab::Tensor& x, double factor, etlab::Tensor& out) {
  ETLAB_CHECK(x.type() == etlab::ScalarType::kFloat, kInvalidArgument, "scale: expected float32, ",
              "got ", etlab::describe(x));
  out.resize(x.sizes());
  for (int64_t i = 0; i < x.numel(); ++i) {
    out.data<float>()[i] = x.data<float>()[i] * static_cast<float>(factor);
  }
}

}  // namespace

ETLAB_CUSTOM_KERNEL("tests_compiled::scale.out", scale_out);
ETLAB_EXPORT_KERNELS();
"""


@torch.library.custom_op("tests_compiled::scale", mutates_args=())
def scale(x: torch.Tensor, factor: float) -> torch.Tensor:
    return x * factor


@scale.register_fake
def _(x, factor):
    return torch.empty_like(x)


class Scale(torch.nn.Module):
    def forward(self, x):
        return scale(x, 2.5) + 1


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """A shared library of one kernel, built against the headers and the core of this tree."""
    objects = sorted(ROOT.glob("build/cp*/runtime/CMakeFiles/etlab_core.dir/core/*.o"))
    compiler = shutil.which("c++") or shutil.which("g++")
    if not objects or compiler is None:
        pytest.skip("needs a C++ compiler and the developer's build")
    folder = tmp_path_factory.mktemp("library")
    (folder / "scale.cpp").write_text(SOURCE)
    options = ["-std=c++17", "-O1", "-fPIC", "-shared", "-fvisibility=hidden", f"-I{ROOT}"]
    command = [compiler, *options, "scale.cpp", *map(str, objects), "-o", "libscale.so", "-pthread"]
    subprocess.run(command, cwd=folder, check=True)
    return folder / "libscale.so"


def test_compiled_kernels_of_a_library_run(library):
    assert load_kernels(library) == ["tests_compiled::scale.out"]
    x = torch.tensor([[1.0, -2.0, 3.0]])
    run = etlab.export(Scale().eval(), x)
    assert torch.equal(run.run(x), Scale()(x))
    whole = etlab.export(Scale().eval(), x.double())
    with pytest.raises(errors.InvalidArgumentError, match=r"scale: expected float32, got float64"):
        whole.run(x.double())
    unregister_kernel("tests_compiled::scale")
    with pytest.raises(errors.OperatorMissingError):
        Runtime.get().load_program(run.file.data).load_method("forward")


def test_library_in_the_current_folder_is_found_by_its_name(library, monkeypatch):
    monkeypatch.chdir(library.parent)
    assert load_kernels(library.name) == ["tests_compiled::scale.out"]


def test_what_is_no_path_is_refused_in_words():
    with pytest.raises(errors.InvalidArgumentError, match="the path of a shared library, got int"):
        load_kernels(3)


def test_other_files_are_refused_in_words(tmp_path):
    with pytest.raises(errors.AccessError, match=r"load_kernels: .*missing"):
        load_kernels(tmp_path / "missing.so")
    (tmp_path / "text.so").write_text("no library")
    with pytest.raises(errors.AccessError, match="load_kernels: "):
        load_kernels(tmp_path / "text.so")
    with pytest.raises(errors.InvalidArgumentError, match="exports no kernels"):
        load_kernels(torch._C.__file__)
