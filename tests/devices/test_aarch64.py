"""The cases of the kernel tests on AArch64 under qemu: programs of one call each, eager as judge.

In short, one or two operators of each family of vectorized kernels, on a runtime built for them
alone; with ETLAB_FULL=1 every case of every operator, on the whole runtime.
"""

import os
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

import pytest
import torch
from devices.kernel_programs import CaseMethod, program_of
from devices.programs import export, require_tool
from kernels.case import Case, collect
from small_models import Mlp

from etlab.devices import DeviceSession, build, device
from etlab.devices.aarch64_qemu import Aarch64QemuDevice
from etlab.devices.builder import source_root

IS_FULL = os.environ.get("ETLAB_FULL") == "1"
SHOWN_FAILURES = 8
# Their output is a view of an input, or the program's own memory: no single call shows it.
IN_PROGRAMS_ONLY = {"executorch_prim::et_view.default"}

VECTORIZED = {
    "aten::add.out",
    "aten::gelu.out",
    "aten::convolution.out",
    "aten::mm.out",
    "aten::native_layer_norm.out",
    "aten::_softmax.out",
    "aten::sum.IntList_out",
}
CASES = collect("CASES" if IS_FULL else "FAST_CASES")
NAMES = sorted(set(CASES) - IN_PROGRAMS_ONLY if IS_FULL else VECTORIZED)


class BuiltHere(Aarch64QemuDevice):
    """The emulated machine with the runtime that these tests built."""

    def __init__(self, runner: Path) -> None:
        super().__init__()
        self._runner = runner

    def runner(self) -> Path:
        return self._runner


def _program(methods: dict[str, list[CaseMethod]]) -> bytes:
    return program_of([method for each in methods.values() for method in each])


@pytest.fixture(scope="module")
def methods() -> dict[str, list[CaseMethod]]:
    torch.set_num_threads(1)
    found: dict[str, list[CaseMethod]] = {}
    for name in NAMES:
        cases: list[Case] = CASES[name]
        found[name] = [CaseMethod(f"{name} {i}", case) for i, case in enumerate(cases)]
    return found


@pytest.fixture(scope="module")
def qemu(
    methods: dict[str, list[CaseMethod]], tmp_path_factory: pytest.TempPathFactory
) -> Aarch64QemuDevice:
    """The emulator with a runtime that has what the cases need."""
    require_tool("qemu-aarch64", "qemu-user")
    require_tool("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu")
    if IS_FULL:
        build(target="aarch64")
        return Aarch64QemuDevice()
    # Made from the same sources as before in most runs: kept, so that it need not be built again.
    folder = source_root() / "build/devices/aarch64-tests"
    files = tmp_path_factory.mktemp("programs")
    (files / "cases.pte").write_bytes(
        program_of([one for each in methods.values() for one in each])
    )
    export(Mlp, 2, 5).save(files / "mlp.pte")
    programs = [files / "cases.pte", files / "mlp.pte"]
    return BuiltHere(build(folder, programs=programs, target="aarch64").runner)


@pytest.fixture(scope="module")
def session(
    qemu: Aarch64QemuDevice, methods: dict[str, list[CaseMethod]]
) -> Iterator[DeviceSession]:
    """One emulated process for all cases: it starts slowly and then is quick."""
    with DeviceSession(qemu, _program(methods)) as opened:
        yield opened


@pytest.mark.parametrize("name", NAMES)
def test_kernel_computes_what_eager_does_on_aarch64(
    name: str, session: DeviceSession, methods: dict[str, list[CaseMethod]]
) -> None:
    failures = []
    for method in methods[name]:
        try:
            method.check(session.execute(method.inputs, method=method.name))
        except Exception as error:
            failures.append(f"{method.case}\n{type(error).__name__}: {error}")
    shown = "\n\n".join(failures[:SHOWN_FAILURES])
    if failures:
        pytest.fail(f"{len(failures)} of {len(methods[name])} fail:\n\n{shown}", pytrace=False)


def test_the_emulated_processor_stands_beside_the_other_paths(
    qemu: Aarch64QemuDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    runner = qemu.runner()
    monkeypatch.setattr(Aarch64QemuDevice, "runner", lambda _: runner)
    path = "device:aarch64-qemu"
    report = export(Mlp, 2, 5).parity(torch.randn(2, 5), paths=["eager", "native", path])
    report.check(paths=["native", path], max_abs=1e-5)
    assert report.row(path).status == "ok"


def test_cases_become_programs_that_this_machine_runs_too(
    methods: dict[str, list[CaseMethod]], runner: Path
) -> None:
    some = [next(iter(group)) for _, group in groupby(NAMES, key=lambda name: name[:7])]
    chosen = [methods[name][0] for name in some]
    with DeviceSession(device("local"), program_of(chosen)) as session:
        for method in chosen:
            method.check(session.execute(method.inputs, method=method.name))
