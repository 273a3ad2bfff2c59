import subprocess
import sys

import pytest

import etlab


def test_public_names():
    assert etlab.__all__ == [
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
    for name in etlab.__all__:
        assert getattr(etlab, name) is not None


def test_views_are_found_by_their_file():
    assert "Workbench" in dir(etlab)
    assert etlab.Workbench.__module__ == "etlab.widgets.workbench.bench"
    with pytest.raises(AttributeError, match="Workbench"):
        _ = etlab.NoSuchView
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = etlab.no_such_name


def test_import_after_torch_is_light():
    script = (
        "import sys, time, torch; begin = time.perf_counter(); import etlab;"
        "seconds = time.perf_counter() - begin;"
        "heavy = {'pandas', 'matplotlib', 'torchao', 'ipywidgets', 'IPython'} & set(sys.modules);"
        "print(seconds < 0.3, sorted(heavy))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "True []"
