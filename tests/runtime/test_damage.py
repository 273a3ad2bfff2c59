import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.parametrize("name", ["mlp", "counter", "branches", "dynamic"])
def test_one_process_survives_every_damaged_version(compiled, tmp_path, name):
    path = tmp_path / "program.pte"
    path.write_bytes(compiled(name))
    script = Path(__file__).with_name("survive.py")
    result = subprocess.run(
        [sys.executable, str(script), str(path)], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stderr[-3000:]}"
    errors = int(result.stdout.split()[0])
    assert errors > 100, result.stdout
