"""This machine, in a process of its own: a crash ends that process and not this one."""

from collections.abc import Sequence
from pathlib import Path

from etlab.devices.base import HereDevice
from etlab.devices.builder import host_runner


class LocalDevice(HereDevice):
    """This machine, through etlab-run in a process of its own."""

    def runner(self) -> Path:
        """The one of the developer's build."""
        return host_runner()

    def command(self, words: Sequence[str]) -> list[str]:
        """The words themselves."""
        return list(words)


DEVICE = LocalDevice
