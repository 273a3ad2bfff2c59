"""Programs of the official exporter, made once by a child process and kept in pytest's cache."""

import hashlib
import json
import subprocess
import sys
from pathlib import Path

import pytest
from interop import corpus, models, official_exporter


def official_programs(kind: str, config: pytest.Config) -> dict[str, bytes | str]:
    """Name to program, or to the official exporter's reason; made when the sources are new."""
    cases = Path(corpus.__file__).parent.parent / "kernels" / "cases"
    sources = [Path(module.__file__ or "") for module in (corpus, models, official_exporter)]
    digest = hashlib.sha256()
    for path in [*sources, *sorted(cases.glob("*.py"))]:
        digest.update(path.read_bytes())
    folder = Path(config.cache.mkdir(f"official_{kind}_{digest.hexdigest()[:16]}"))  # type: ignore[union-attr]
    if not (folder / "index.json").exists():
        command = [sys.executable, official_exporter.__file__, kind, str(folder)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    index = json.loads((folder / "index.json").read_text())
    return {
        name: (folder / entry["file"]).read_bytes() if "file" in entry else entry["refused"]
        for name, entry in index.items()
    }
