"""Where OpenVINO is on this machine."""

import functools
import importlib.util
import os
from pathlib import Path
from typing import Any

_VARIABLE = "OPENVINO_LIB_PATH"  # read by the native part, and by ExecuTorch's

NEEDED = "openvino"  # the package, and the name of the optional extra


def is_installed() -> bool:
    """Whether the package can be imported; it is not."""
    return importlib.util.find_spec(NEEDED) is not None


def show_library() -> None:
    """Tell native code where the shared library of the installed package is, unless it was told."""
    spec = importlib.util.find_spec(NEEDED)
    if _VARIABLE in os.environ or spec is None or spec.origin is None:
        return
    libraries = sorted((Path(spec.origin).parent / "libs").glob("libopenvino_c.*"))
    if libraries:
        os.environ[_VARIABLE] = str(libraries[0])


@functools.cache
def core() -> Any:
    """The `openvino.Core` of the process, which is never let go.

    With its last core OpenVINO unmaps the stack that it gave a thread for signals; the next signal,
    a notebook's stop button, would end the process.
    """
    import openvino

    return openvino.Core()
