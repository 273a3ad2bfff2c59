import importlib.util

import pytest

from etlab.errors import NotSupportedError
from etlab.inspect import netron

needs_netron = pytest.mark.skipif(
    importlib.util.find_spec("netron") is None, reason="needs the netron package"
)


@needs_netron
def test_page_names_no_foreign_host_outside_of_netrons_own_modules():
    page = netron.NetronView("m<b>.pte", b"abc").to_html()
    assert "connect-src" not in page  # default-src 'none' forbids every connection
    assert "default-src 'none'" in page
    assert "<link" not in page
    assert "src=" not in page.split("netron-files")[0].replace("srcdoc=", "")
    assert '"m\\u003cb>.pte"' in page


@needs_netron
def test_frame_is_sandboxed_and_escaped():
    html = netron.NetronView("m.pte", b"abc")._repr_html_()
    assert 'sandbox="allow-scripts"' in html
    assert html.count('"') % 2 == 0
    assert "The weights are left out" in html


def test_absent_package_says_how_to_install_it(monkeypatch):
    netron._folder.cache_clear()
    netron._bundle.cache_clear()
    monkeypatch.setattr(netron.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(NotSupportedError, match=r"pip install 'etlab\[netron\]'"):
        netron.NetronView.of(b"", name="m", weights=True, height=3)
    netron._folder.cache_clear()
