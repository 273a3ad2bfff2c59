"""An Android device reached by adb."""

import contextlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from etlab.devices.base import Device, DeviceError, call, need_tool
from etlab.devices.builder import runner_for


class AdbDevice(Device):
    """An Android device: "device:adb:SERIAL", the serial number as `adb devices` lists it."""

    takes_address = True

    def runner(self) -> Path:
        """The one of the device's processor; linked statically, it needs no Android library."""
        return runner_for(self.ask(["uname", "-m"]).strip())

    def command(self, words: Sequence[str]) -> list[str]:
        """The words as one quoted command for the shell there, without a terminal."""
        return [*self._adb(), "shell", "-T", shlex.join(words)]

    def make_folder(self, here: Path) -> str:
        """A new folder where programs may be started."""
        return self.ask(["mktemp", "-d", "/data/local/tmp/etlab.XXXXXX"]).strip()

    def push(self, here: Path, there: str) -> None:
        """With adb push."""
        call([*self._adb(), "push", str(here), there], timeout=self.timeout)

    def pull(self, there: str, here: Path) -> None:
        """With adb pull."""
        call([*self._adb(), "pull", there, str(here)], timeout=self.timeout)

    def remove_folder(self, there: str) -> None:
        """With rm."""
        with contextlib.suppress(DeviceError):
            self.ask(["rm", "-rf", there])

    def _adb(self) -> list[str]:
        return [need_tool("adb", "adb"), "-s", self.address]


DEVICE = AdbDevice
