"""The C++ runtime built for a device: whole, or with what some programs need.

A build needs the sources (a checkout), CMake, Ninja, and the compiler of the target.
"""

import contextlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from etlab import display
from etlab.devices.base import DeviceAbsentError, DeviceError, need_tool
from etlab.devices.selection import Selection, select
from etlab.errors import InvalidArgumentError, NotFoundError

HOST = "host"
# What a target needs: compiler, its Debian package, toolchain file below the sources.
_CROSS = {
    "aarch64": ("aarch64-linux-gnu-g++", "g++-aarch64-linux-gnu", "tools/aarch64-linux-gnu.cmake")
}
TARGETS = (HOST, *_CROSS)


@dataclass(frozen=True, slots=True)
class Build:
    """A runtime that was built: a CMake package, and `bin/etlab-run`.

    Attributes:
        folder: `find_package(etlab)` finds it with this in `CMAKE_PREFIX_PATH`.
        target: the machine, "host" or "aarch64".
        selection: what it was cut down to; None for the whole runtime.
        nbytes: of the stripped `etlab-run`.
        full_nbytes: of the stripped `etlab-run` with everything; None where it was never built.
    """

    folder: Path
    target: str
    selection: Selection | None
    nbytes: int
    full_nbytes: int | None

    @property
    def runner(self) -> Path:
        """Its `etlab-run`."""
        return self.folder / "bin/etlab-run"

    def __str__(self) -> str:
        """A table: what is in it and what that saves."""
        selection = self.selection
        if selection is None:
            return f"{self.runner}: {display.format_bytes(self.nbytes)} stripped"
        full = "not built" if self.full_nbytes is None else display.format_bytes(self.full_nbytes)
        saved = "" if self.full_nbytes is None else f"{1 - self.nbytes / self.full_nbytes:.0%}"
        from etlab.runtime import _native

        rows = [
            ("operators", str(len(_native.operator_names())), str(len(selection.operators)), ""),
            ("etlab-run, stripped", full, display.format_bytes(self.nbytes), saved),
        ]
        lines = [display.text_table(("", "full", "selected", "saved"), rows)]
        for name, dtypes in selection.operators.items():
            shown = ", ".join(sorted(str(dtype).removeprefix("torch.") for dtype in dtypes))
            lines.append(f"  {name}: {shown}")
        if selection.without_kernel:
            lines.append("no kernel here, yours to add: " + ", ".join(selection.without_kernel))
        if self.full_nbytes is None:
            command = f"python -m etlab build --target {self.target}"
            lines.append(f"for the size of the full runtime, build it once: {command}")
        return "\n".join(lines)


def build(
    output: Path | str | None = None,
    *,
    programs: Sequence[Path | str] = (),
    target: str = HOST,
    source: Path | str | None = None,
    jobs: int = 2,
    on_line: Callable[[str], None] | None = None,
) -> Build:
    """Build the C++ runtime.

    Args:
        output: folder for the result; by default `build/devices/<target>` of the sources.
        programs: .pte files; the runtime then has only their operators and dtypes. None: all.
        target: "host" or "aarch64".
        source: the checkout; by default the one that this package is installed from.
        jobs: compilers at once.
        on_line: is given every line that the build prints.

    Raises:
        DeviceAbsentError: the sources or a tool is missing; the message says how to get it.
        DeviceError: the build failed; the message ends with the compiler's words.
    """
    if target not in TARGETS:
        raise NotFoundError(f"no target '{target}': choose from {', '.join(TARGETS)}")
    if programs and output is None:
        raise InvalidArgumentError("build: a selective build needs an output folder")
    root = source_root(source)
    folder = Path(output) if output is not None else _default_folder(root, target)
    selection = select(Path(path).read_bytes() for path in programs) if programs else None
    tree = folder / "build"
    options = ["-DETLAB_PYTHON=OFF", *_toolchain(root, target)]
    if selection is not None:
        selection.write(folder / "selection")
        options.append(f"-DETLAB_SELECTION={folder.resolve() / 'selection'}")
    if selection is None and target == HOST and (editable := _editable_tree(root)) is not None:
        tree, options = editable, []  # its objects are there already
    _configure(root, tree, options, on_line)
    _run(["cmake", "--build", tree, "--parallel", jobs, "--target", "etlab_package"], on_line)
    install = ["cmake", "--install", tree, "--component", "devel", "--prefix", folder.resolve()]
    _run([*install, "--strip"], None)
    nbytes = (folder / "bin/etlab-run").stat().st_size
    full = nbytes if selection is None else _full_size(root, target)
    return Build(folder, target, selection, nbytes, full)


def source_root(source: Path | str | None = None) -> Path:
    """The folder of the C++ sources.

    Raises:
        DeviceAbsentError: an installed package has none, or the folder given is none.
    """
    import etlab.runtime

    root = Path(source) if source is not None else Path(etlab.runtime.__file__).parent.parent
    if not (root / "runtime/core/method.h").exists():
        raise DeviceAbsentError(
            f"no C++ sources of etlab in {root}: clone the repository and give its folder as source"
        )
    return root.resolve()


def runner_for(machine: str) -> Path:
    """The `etlab-run` for a processor as `uname -m` names it.

    Raises:
        DeviceAbsentError: it has not been built; the message says how.
    """
    import platform

    if machine == platform.machine():
        return host_runner()
    path = _default_folder(source_root(), machine) / "bin/etlab-run"
    if machine not in _CROSS:
        raise DeviceAbsentError(f"no build for {machine}: targets are {', '.join(TARGETS)}")
    if not path.exists():
        raise DeviceAbsentError(
            f"no etlab-run for {machine} in {path.parent}: python -m etlab build --target {machine}"
        )
    return path


def host_runner(name: str = "etlab-run") -> Path:
    """A program for this machine, brought up to date in the developer's build.

    Args:
        name: "etlab-run" or "etlab-run-llm".

    Raises:
        DeviceAbsentError: there is no such build.
    """
    root = source_root()
    tree = _editable_tree(root)
    if tree is None:
        path = _default_folder(root, HOST) / "bin" / name
        if not path.exists():
            raise DeviceAbsentError(f"no {name} in {path.parent}: python -m etlab build")
        return path
    _run(["cmake", "--build", tree, "--target", name.replace("-", "_")], None)
    return tree / "runtime" / name


def _default_folder(root: Path, target: str) -> Path:
    return root / "build/devices" / target


def _full_size(root: Path, target: str) -> int | None:
    """Bytes of the stripped `etlab-run` with everything; None where none was built."""
    built = _default_folder(root, target) / "bin/etlab-run"
    if built.exists():
        return built.stat().st_size
    if target != HOST or _editable_tree(root) is None or shutil.which("strip") is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        stripped = Path(folder, "etlab-run")
        _run(["strip", "-o", stripped, host_runner()], None)
        return stripped.stat().st_size


def _editable_tree(root: Path) -> Path | None:
    """The build folder of an editable install, if there is one for this Python."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted(root.glob(f"build/{tag}-{tag}-*/CMakeCache.txt"))
    return found[0].parent if found else None


def _toolchain(root: Path, target: str) -> list[str]:
    if target == HOST:
        return []
    compiler, package, file = _CROSS[target]
    need_tool(compiler, package)
    return [f"-DCMAKE_TOOLCHAIN_FILE={root / file}"]


def _configure(
    root: Path, tree: Path, options: Sequence[str], on_line: Callable[[str], None] | None
) -> None:
    if not options:
        return
    if shutil.which("cmake") is None:
        raise DeviceAbsentError("cmake is not installed: pip install cmake ninja")
    python = [f"-DPython_EXECUTABLE={sys.executable}", "-DCMAKE_BUILD_TYPE=Release"]
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    words = ["cmake", "-S", root, "-B", tree, *generator, *launcher, *python, *options]
    _run(words, on_line)


def _run(words: Iterable[object], on_line: Callable[[str], None] | None) -> None:
    """Run a step of the build; a failure carries the last lines."""
    command = [str(word) for word in words]
    lines: list[str] = []
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    ) as process:
        assert process.stdout is not None
        try:
            for line in process.stdout:
                lines.append(line.rstrip())
                if on_line is not None:
                    on_line(lines[-1])
        except BaseException:
            with contextlib.suppress(OSError):
                process.terminate()
            raise
    if process.returncode != 0:
        said = "\n".join(lines[-30:])
        raise DeviceError(f"{' '.join(command[:4])} failed:\n{said}")
