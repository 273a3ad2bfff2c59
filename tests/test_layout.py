"""The structure of the repository, held by a test: names, sizes and the directions of imports."""

import ast
import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
FOLDERS = {
    "etlab.runtime": ROOT / "runtime",
    "etlab.backends": ROOT / "backends",
    "etlab.widgets": ROOT / "widgets",
}
LINE_LIMIT = 400
TOP_FOLDERS = {".ci", "backends", "benchmarks", "docs", "etlab"} | {
    "notebooks",
    "runtime",
    "tests",
    "tools",
    "widgets",
}

# What a part may import beside itself, etlab.errors and foreign packages; longest prefix counts.
_COMPILER = ("etlab.exir", "etlab.runtime")
ALLOWED = {
    "etlab.errors": (),
    "etlab.runtime": (),
    "etlab.exir": (),
    "etlab.models": (),
    "etlab.quantize": _COMPILER,
    "etlab.numerics": (*_COMPILER, "etlab.quantize"),
    "etlab.devtools": (*_COMPILER, "etlab.quantize", "etlab.numerics"),
    "etlab.extension": (*_COMPILER, "etlab.devtools"),
    "etlab.util": _COMPILER,
    "etlab.kernels": ("etlab.runtime",),
    "etlab.devices": (*_COMPILER, "etlab.numerics"),
    "etlab.inspect": (*_COMPILER, "etlab.quantize", "etlab.numerics", "etlab.devtools"),
    "etlab.llm": (
        *_COMPILER,
        *(f"etlab.{name}" for name in ("quantize", "numerics", "devtools", "inspect", "models")),
    ),
    "etlab.custom_backend": ("etlab.exir", "etlab.quantize", "etlab.runtime"),
    "etlab.backends": ("etlab.exir", "etlab.quantize", "etlab.runtime"),
    "etlab.widgets": ("etlab.inspect", "etlab.numerics", "etlab.run"),
}


def _python_files() -> list[tuple[str, Path]]:
    """Every module of the package with its installed name."""
    files = []
    for folder, name in [(ROOT / "etlab", "etlab"), *((f, n) for n, f in FOLDERS.items())]:
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            files.append((".".join((name, *[p for p in parts if p != "__init__"])), path))
    return files


def _imports(path: Path) -> list[str]:
    names = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.append(node.module)
            names += [f"{node.module}.{alias.name}" for alias in node.names]
    return names


def _part(module: str) -> str | None:
    """The entry of ALLOWED that a module belongs to."""
    matches = [p for p in ALLOWED if module == p or module.startswith(p + ".")]
    return max(matches, key=len) if matches else None


def _sources(*suffixes: str) -> list[Path]:
    folders = ["etlab", "runtime", "backends", "widgets", "tests", "benchmarks", "tools", "docs"]
    files = [path for folder in folders for path in sorted((ROOT / folder).rglob("*"))]
    return [path for path in files if path.suffix in suffixes and path.is_file()]


def test_imports_follow_the_directions_of_the_design() -> None:
    wrong = []
    for module, path in _python_files():
        part = _part(module)
        if part is None:
            continue
        for name in _imports(path):
            target = _part(name)
            if target not in (None, part, "etlab.errors", *ALLOWED[part]):
                wrong.append(f"{module} imports {name}")
    assert not wrong, "\n".join(wrong)


def test_no_folder_stands_at_the_top_beside_those_of_the_design() -> None:
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if listed.returncode:
        pytest.skip("this is no git checkout")
    assert {path.split("/")[0] for path in listed.stdout.split("\0") if "/" in path} <= TOP_FOLDERS


def test_core_never_includes_kernels_bindings_or_backends() -> None:
    include = re.compile(r'#include "(runtime/(?:kernels|bindings)|backends)/')
    files = [*(ROOT / "runtime/core").glob("*.h"), *(ROOT / "runtime/core").glob("*.cpp")]
    wrong = [path.name for path in files if include.search(path.read_text())]
    assert files
    assert not wrong, f"core reaches upwards in {wrong}"


def test_no_source_file_is_longer_than_the_limit() -> None:
    counts = {
        path.relative_to(ROOT): len(path.read_text().splitlines())
        for path in _sources(".py", ".pyi", ".cpp", ".h", ".js")
    }
    long = [f"{path}: {count} lines" for path, count in counts.items() if count > LINE_LIMIT]
    assert not long, "\n".join(long)


def test_the_product_imports_executorch_only_on_the_official_path() -> None:
    wrong = [
        module
        for module, path in _python_files()
        if "official" not in module
        and any(name.split(".")[0] == "executorch" for name in _imports(path))
    ]
    assert not wrong, f"executorch is imported by {wrong}"


def test_every_pass_has_a_test_of_its_name() -> None:
    infrastructure = {"__init__", "base", "pipeline", "manager", "registry"}
    passes = {p.stem for p in (ROOT / "etlab/exir/passes").glob("*.py")} - infrastructure
    tests = {p.stem.removeprefix("test_") for p in (ROOT / "tests/passes").glob("test_*.py")}
    missing = sorted(name for name in passes if not name.startswith("_") and name not in tests)
    assert not missing, f"passes without tests/passes/test_<name>.py: {missing}"


def test_the_repository_names_no_machine_path() -> None:
    pattern = re.compile(r"(?<![\w.])/(?:root|home|Users|work)/\w")
    suffixes = (".py", ".cpp", ".h", ".js", ".md", ".fbs", ".cfg", ".txt")
    wrong = [
        str(path.relative_to(ROOT))
        for path in _sources(*suffixes)
        if path != Path(__file__) and pattern.search(path.read_text())
    ]
    assert not wrong, f"machine paths in {wrong}"
