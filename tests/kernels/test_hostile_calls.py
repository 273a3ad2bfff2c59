import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).parent.parent


def test_no_call_of_a_kernel_ends_the_process_or_writes_outside_its_outputs() -> None:
    """In a child process: a crash is reported with the call that caused it."""
    result = subprocess.run(
        [sys.executable, "-m", "kernels.hostile_calls"],
        cwd=TESTS,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    lines = result.stdout.splitlines()[-1:]
    assert result.returncode == 0, f"in {lines}: {result.stderr[-2000:]}"
    assert "calls taken" in lines[0]
