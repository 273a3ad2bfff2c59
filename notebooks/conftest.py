"""Notebooks are compared without the progress line, whose times differ from run to run."""

import os

os.environ.setdefault("ETLAB_PROGRESS", "off")
