import io
import textwrap

import pytest
import torch

import etlab
from etlab.numerics import official, official_process
from etlab.numerics.official import OfficialRuntime, OfficialRuntimeError
from etlab.numerics.parity import PathAbsentError


@pytest.fixture
def fake_child(tmp_path, monkeypatch):
    """Make the child a script of the test's own."""

    def install(body):
        script = tmp_path / "child.py"
        script.write_text(
            "import os, signal, sys, time\n"
            "from etlab.numerics._official_child import read_message, write_message\n"
            "answers = os.fdopen(os.dup(1), 'wb')\nos.dup2(2, 1)\n"
            "read_message(sys.stdin.buffer)\n"
            "write_message(answers, {'ok': True, 'version': '0'})\n" + textwrap.dedent(body)
        )
        monkeypatch.setattr(official_process._official_child, "__file__", str(script))
        monkeypatch.setattr(official, "is_available", lambda: True)

    return install


def test_absent_package_says_how_to_install_it(monkeypatch):
    monkeypatch.setattr(official, "is_available", lambda: False)
    with pytest.raises(PathAbsentError, match=r"pip install 'etlab\[official\]'"):
        OfficialRuntime(b"")


def test_death_is_an_error_with_the_signal_and_the_last_words(fake_child):
    fake_child("""
        read_message(sys.stdin.buffer)
        print("[method.cpp:7] everything broke", file=sys.stderr, flush=True)
        os.kill(os.getpid(), signal.SIGABRT)
    """)
    with OfficialRuntime(b"x") as runtime, pytest.raises(OfficialRuntimeError) as caught:
        runtime.execute([torch.ones(2)])
    assert "SIGABRT" in str(caught.value)
    assert "everything broke" in str(caught.value)


def test_silence_ends_with_a_timeout(fake_child):
    fake_child("time.sleep(60)")
    with (  # on a slow machine even the start may take that long
        pytest.raises(OfficialRuntimeError, match="no answer in 8 s"),
        OfficialRuntime(b"x", timeout=8) as runtime,
    ):
        runtime.execute([torch.ones(2)])


def test_reason_is_what_the_runtime_wrote_to_standard_error(fake_child):
    fake_child("""
        read_message(sys.stdin.buffer)
        print("noise", file=sys.stderr)
        print("[registry.cpp:9] kernel 'aten::foo.out' not found.", file=sys.stderr, flush=True)
        write_message(answers, {"ok": False, "reason": "RuntimeError: error 0x14"})
    """)
    with OfficialRuntime(b"x") as runtime, pytest.raises(OfficialRuntimeError) as caught:
        runtime.execute([])
    assert "0x14" in str(caught.value)
    assert "aten::foo.out" in str(caught.value)
    assert "noise" not in str(caught.value)


@pytest.fixture
def started(tmp_path, monkeypatch):
    """Children that say yes to everything, without importing anything: those that were started."""
    answer, script, found = io.BytesIO(), tmp_path / "child.py", []
    official_process._official_child.write_message(answer, {"ok": True, "version": "0"})
    script.write_text(
        "import sys\n"
        "read, write = sys.stdin.buffer.read, sys.stdout.buffer.write\n"
        "while len(head := read(8)) == 8:\n"
        "    read(int.from_bytes(head, 'little'))\n"
        f"    write({answer.getvalue()!r})\n"
        "    sys.stdout.flush()\n"
    )
    make = official_process.subprocess.Popen
    monkeypatch.setattr(official_process._official_child, "__file__", str(script))
    monkeypatch.setattr(official, "is_available", lambda: True)
    monkeypatch.setattr(
        official_process.subprocess,
        "Popen",
        lambda *args, **options: found.append(make(*args, **options)) or found[-1],
    )
    yield found
    official_process.end_waiting()


def test_the_child_waits_for_the_next_program(started):
    for _ in range(3):
        with OfficialRuntime(b"x"):
            assert len(started) == 1
    with OfficialRuntime(b"x"), OfficialRuntime(b"y"), OfficialRuntime(b"z"):
        assert len(started) == 3
    assert [child.poll() is None for child in started].count(True) == 2
    official_process.end_waiting()
    assert not any(child.poll() is None for child in started)


def test_a_child_that_died_while_it_waited_is_replaced(started):
    with OfficialRuntime(b"x"):
        pass
    started[0].kill()
    with OfficialRuntime(b"x"):
        assert len(started) == 2


def test_a_child_that_was_interrupted_does_not_wait(started):
    with OfficialRuntime(b"x") as runtime:
        runtime.interrupt()
    with OfficialRuntime(b"x"):
        assert len(started) == 2


def test_official_runtime_explains_a_damaged_file():
    if not official.is_available():
        pytest.skip("needs the executorch package")
    with pytest.raises(OfficialRuntimeError, match="ET12"):
        OfficialRuntime(b"nonsense" * 64)


def test_a_backend_in_python_makes_the_official_row_not_applicable():
    if not official.is_available():
        pytest.skip("needs the executorch package")
    run = etlab.export(torch.nn.Linear(3, 5), torch.ones(2, 3), partitioner="reference")
    report = run.parity(torch.linspace(-1, 1, 6).reshape(2, 3), paths=["native", "official"])
    row = report.row("official")
    assert (row.status, "no ReferenceBackend" in row.reason) == ("not applicable", True)
    report.check(sqnr_db=60)
