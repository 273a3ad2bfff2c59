"""Programs on devices: here, and over stand-ins for ssh and adb that stay on this machine."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
import torch
from devices.programs import Endless, export
from small_models import Counter, Mlp

import etlab
from etlab.devices import DeviceAbsentError, DeviceError, DeviceSession, device, list_devices
from etlab.devices.values import load_outputs
from etlab.errors import (
    EtlabError,
    InterruptedExecutionError,
    InvalidArgumentError,
    InvalidProgramError,
    NotFoundError,
)
from etlab.exir import ExecutorchBackendConfig
from etlab.run import StageListener, listen

pytestmark = pytest.mark.usefixtures("runner")

SSH = """#!/bin/sh
while [ "$1" != -- ]; do shift; done
shift
echo "$*" >> "$STAND_IN/log"
exec sh -c "$*"
"""
SCP = """#!/bin/sh
while [ $# -gt 2 ]; do shift; done
echo "scp $1 $2" >> "$STAND_IN/log"
exec cp -r "${1#pi@board:}" "${2#pi@board:}"
"""
ADB = """#!/bin/sh
[ "$1 $2" = "-s 0A1B" ] || { echo "adb: device not found" >&2; exit 1; }
verb=$3
shift 3
[ "$1" = -T ] && shift
there() { echo "$*" | sed "s,/data/local/tmp,$STAND_IN/device,g"; }
case $verb in
  shell) exec sh -c "$(there "$@")" ;;
  push) exec cp -r "$1" "$(there "$2")" ;;
  pull) exec cp -r "$(there "$1")" "$2" ;;
esac
"""
WRONG_ADB = """#!/bin/sh
[ "$3" = pull ] || exec true-adb "$@"
mkdir -p "$5"
printf '%s' 'TEXT' > "$5/outputs.json"
"""


@pytest.fixture
def stand_ins(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """ssh, scp and adb that act on this machine; the folder with what they did."""
    folder = tmp_path / "tools"
    (folder / "device").mkdir(parents=True)
    for name, text in [("ssh", SSH), ("scp", SCP), ("adb", ADB)]:
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("STAND_IN", str(folder))
    return folder


def test_a_device_stands_beside_the_other_paths() -> None:
    run = export(Mlp, 2, 5)
    report = run.parity(torch.randn(2, 5), paths=["eager", "native", "device:local"])
    assert [row.path for row in report.rows] == ["eager", "native", "device:local"]
    report.check(paths=["native", "device:local"], max_abs=1e-5)
    x = torch.randn(2, 5)
    assert torch.equal(run.run(x, path="device:local"), run.run(x))


@pytest.mark.parametrize("name", ["local", "ssh:pi@board", "adb:0A1B"])
def test_state_is_kept_between_calls(name: str, stand_ins: Path) -> None:
    with DeviceSession(device(name), export(Counter, 3).file.data) as session:
        assert session.execute([torch.ones(3)])[0].tolist() == [4, 4, 4]
        assert session.execute([torch.ones(3)])[0].tolist() == [5, 5, 5]


@pytest.mark.parametrize("name", ["local", "ssh:pi@board", "adb:0A1B"])
def test_constants_outside_of_the_program_are_sent_along(name: str, stand_ins: Path) -> None:
    torch.manual_seed(0)
    outside = ExecutorchBackendConfig(external_constants=lambda node: f"file-of-{node.name}")
    run = etlab.export(Mlp().eval(), (torch.randn(2, 5),), backend_config=outside)
    x = torch.randn(2, 5)
    assert len(run.file.tensor_data) > 1
    assert torch.equal(run.run(x, path=f"device:{name}"), run.run(x))


@pytest.mark.parametrize("name", ["ssh:pi@board", "adb:0A1B"])
def test_nothing_stays_behind_on_a_device(name: str, stand_ins: Path) -> None:
    before = set(Path("/tmp").glob("etlab.*"))
    with DeviceSession(device(name), export(Mlp, 2, 5).file.data) as session:
        session.execute([torch.ones(2, 5)])
    assert set(Path("/tmp").glob("etlab.*")) <= before
    assert not list((stand_ins / "device").iterdir())


def test_events_come_back() -> None:
    run = export(Mlp, 2, 5)
    with DeviceSession(device("local"), run.file.data, threads=1) as session:
        events = session.profile([torch.ones(2, 5)], runs=2)
    names = [step.name for step in run.file.program.metadata("forward").instructions]
    assert [event.name for event in events] == names * 2
    assert all(event.duration > 0 for event in events)


def test_what_the_device_refuses_is_the_same_kind_of_error_as_here() -> None:
    with DeviceSession(device("local"), export(Mlp, 2, 5).file.data) as session:
        with pytest.raises(InvalidArgumentError, match="expected size 5 in dimension 1"):
            session.execute([torch.ones(2, 4)])
        with pytest.raises(NotFoundError, match="backward"):
            session.execute([torch.ones(2, 5)], method="backward")
        assert session.execute([torch.ones(2, 5)])[0].shape == (2, 3)
    with (
        DeviceSession(device("local"), b"no program") as session,
        pytest.raises(InvalidProgramError),
    ):
        session.execute([])


def test_a_device_that_does_not_answer_in_time_is_ended() -> None:
    data = export(Endless, 900, 900).file.data
    with DeviceSession(device("local"), data, timeout=0.5) as session:
        with pytest.raises(DeviceError, match=r"no answer in 0\.5 s"):
            session.execute([torch.ones(900, 900)])
        assert session._child is not None
        assert session._child.poll() is not None


def test_stop_ends_what_runs_there() -> None:
    run = export(Endless, 900, 900)
    asked = threading.Event()
    threading.Timer(0.5, asked.set).start()
    begin = time.monotonic()
    with (
        listen(StageListener(should_stop=asked.is_set)),
        pytest.raises(InterruptedExecutionError),
    ):
        run.run(torch.ones(900, 900), path="device:local")
    assert time.monotonic() - begin < 10


def test_the_end_of_its_input_stops_a_run(runner: Path, tmp_path: Path) -> None:
    program = export(Endless, 900, 900).save(tmp_path / "endless.pte")
    child = subprocess.Popen([runner, "--serve"], stdin=-1, stdout=-1, text=True)
    assert child.stdin is not None
    child.stdin.write(f"{program}\t--random\t1\n")
    child.stdin.flush()
    time.sleep(0.3)
    out, _ = child.communicate(timeout=20)
    assert out.startswith("error\tinterrupted\t")
    assert child.returncode == 0


def test_a_device_that_dies_is_told_of_with_its_signal() -> None:
    with DeviceSession(device("local"), export(Mlp, 2, 5).file.data) as session:
        assert session._child is not None
        session._child.send_signal(signal.SIGSEGV)
        with pytest.raises(DeviceError, match=f"signal {int(signal.SIGSEGV)}"):
            session.execute([torch.ones(2, 5)])


def test_a_machine_that_is_not_there_is_told_of_in_the_tools_words(stand_ins: Path) -> None:
    with pytest.raises(DeviceError, match="device not found"):
        DeviceSession(device("adb:9Z"), b"")
    (stand_ins / "ssh").write_text("#!/bin/sh\necho 'ssh: no route to host' >&2\nexit 255\n")
    report = export(Mlp, 2, 5).parity(torch.ones(2, 5), paths=["eager", "device:ssh:pi@board"])
    assert "no route to host" in report.row("device:ssh:pi@board").reason


@pytest.mark.parametrize(
    ("name", "package"),
    [("ssh:pi@board", "openssh-client"), ("adb:0A1B", "adb"), ("aarch64-qemu", "qemu-user")],
)
def test_a_missing_tool_is_named_with_its_package(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(DeviceAbsentError, match=f"apt-get install {package}"):
        device(name).runner()


def test_names_and_addresses_are_checked() -> None:
    for name, message in [
        ("toaster", "aarch64-qemu, adb, local, ssh"),
        ("ssh", "user@host"),
        ("local:here", "takes no address"),
        ("ssh:-oProxyCommand=x", "looks like an option"),
    ]:
        with pytest.raises(EtlabError, match=message):
            device(name)
    assert list(list_devices()) == ["aarch64-qemu", "adb", "local", "ssh", "tosa"]


def test_a_device_does_not_choose_which_files_are_read(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "secret.npy").write_bytes(b"")
    (tmp_path / "out/outputs.json").write_text('[{"kind": "tensor", "file": "../secret.npy"}]')
    with pytest.raises(EtlabError, match=r"out/secret\.npy"):
        load_outputs(tmp_path / "out")


@pytest.mark.parametrize("text", ["", "{", "[1]", '[{"kind": "tensor"}]', '[{"kind": "new"}]'])
def test_an_answer_that_makes_no_sense_is_an_error_of_the_device(
    text: str, stand_ins: Path
) -> None:
    with DeviceSession(device("adb:0A1B"), export(Mlp, 2, 5).file.data) as session:
        session.execute([torch.ones(2, 5)])
        (stand_ins / "adb").rename(stand_ins / "true-adb")
        (stand_ins / "adb").write_text(WRONG_ADB.replace("TEXT", text))
        (stand_ins / "adb").chmod(0o755)
        with pytest.raises(DeviceError, match="outputs"):
            session.execute([torch.ones(2, 5)])
