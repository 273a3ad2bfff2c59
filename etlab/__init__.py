"""etlab: a Jupyter workbench for taking PyTorch models to devices.

    run = etlab.export(model, inputs, quantizer="int8-weights")
    run.parity(inputs)

Names are imported when they are first used, so `import etlab` costs nothing. Views (`Workbench` and
what else lies in `etlab.widgets`) are found by their file.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from etlab.choices import list_partitioners, list_quantizers
    from etlab.custom_backend import backend, backend_kernel
    from etlab.environment import doctor
    from etlab.exporting import export
    from etlab.inspect.diff import ProgramDiff, diff
    from etlab.inspect.graph_compare import compare
    from etlab.inspect.loading import load
    from etlab.inspect.program_file import ProgramFile
    from etlab.inspect.tensor_file import TensorDataFile
    from etlab.magics import load_ipython_extension
    from etlab.mixed_precision import recommend, sensitivity
    from etlab.reporting import report
    from etlab.run import ExportRun
    from etlab.session import options
    from etlab.sweeping import Sweep, sweep

__version__ = "0.1.0"

_HOMES = {
    "ExportRun": "etlab.run",
    "ProgramFile": "etlab.inspect.program_file",
    "Sweep": "etlab.sweeping",
    "backend": "etlab.custom_backend",
    "backend_kernel": "etlab.custom_backend",
    "compare": "etlab.inspect.graph_compare",
    "ProgramDiff": "etlab.inspect.diff",
    "TensorDataFile": "etlab.inspect.tensor_file",
    "diff": "etlab.inspect.diff",
    "doctor": "etlab.environment",
    "export": "etlab.exporting",
    "list_partitioners": "etlab.choices",
    "list_quantizers": "etlab.choices",
    "load": "etlab.inspect.loading",
    "load_ipython_extension": "etlab.magics",
    "options": "etlab.session",
    "recommend": "etlab.mixed_precision",
    "report": "etlab.reporting",
    "sensitivity": "etlab.mixed_precision",
    "sweep": "etlab.sweeping",
}

__all__ = [
    "ExportRun",
    "ProgramDiff",
    "ProgramFile",
    "Sweep",
    "TensorDataFile",
    "__version__",
    "backend",
    "backend_kernel",
    "compare",
    "diff",
    "doctor",
    "export",
    "list_partitioners",
    "list_quantizers",
    "load",
    "load_ipython_extension",
    "options",
    "recommend",
    "report",
    "sensitivity",
    "sweep",
]


def __getattr__(name: str) -> Any:
    """A public name from its home, or a view from its file in `etlab.widgets`."""
    if name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    elif name[:1].isupper():
        value = importlib.import_module("etlab.widgets").find_view(name)
    else:
        raise AttributeError(f"module 'etlab' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Public names and views."""
    views = importlib.import_module("etlab.widgets").view_names()
    return sorted({*globals(), *__all__, *views})
