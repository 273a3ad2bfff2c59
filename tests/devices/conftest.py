"""The native etlab-run, and its two faces."""

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from devices.programs import Command, Finished

from etlab import runtime
from etlab.commands import main
from etlab.devices.base import DeviceAbsentError
from etlab.devices.builder import host_runner


@pytest.fixture(scope="session")
def runner() -> Path:
    """The native etlab-run; linked from the objects of the developer's build."""
    try:
        return host_runner()
    except DeviceAbsentError as error:
        pytest.skip(str(error))


@pytest.fixture(params=["native", "python"])
def command(request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]) -> Command:
    """`etlab-run WORDS`, or `python -m etlab run WORDS`: both must mean the same."""
    if request.param == "native":
        runner: Path = request.getfixturevalue("runner")

        def run_native(words: Sequence[object]) -> Finished:
            done = subprocess.run(
                [runner, *map(str, words)], capture_output=True, text=True, check=False, timeout=60
            )
            return Finished(done.returncode, done.stdout, done.stderr)

        return run_native

    def run_python(words: Sequence[object]) -> Finished:
        threads = runtime.thread_count()
        try:
            code = main(["run", *map(str, words)])
        except SystemExit as exit:
            code = int(exit.code or 0)
        finally:
            runtime.set_thread_count(threads)
        out, errors = capsys.readouterr()
        return Finished(code, out, errors)

    return run_python
