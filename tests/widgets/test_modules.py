"""The widgets' modules as they are joined: what the small writer of JavaScript cannot read."""

import re
from pathlib import Path

from etlab.widgets import find_view

WIDGETS = Path(find_view.__code__.co_filename).parent


def test_no_template_stands_in_the_hole_of_another():
    nested = re.compile(r"\$\{[^{}`]*`")
    wrong = [
        f"{path.name}:{number}"
        for path in sorted(WIDGETS.rglob("*.js"))
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if nested.search(line)
    ]
    assert not wrong, f"joined modules would lose spaces there: {wrong}"
