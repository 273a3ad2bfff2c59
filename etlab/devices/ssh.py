"""A machine reached by ssh, which must let us in without asking."""

import contextlib
import shlex
from collections.abc import Sequence
from pathlib import Path

from etlab.devices.base import Device, DeviceError, call, need_tool
from etlab.devices.builder import runner_for

_OPTIONS = ("-o", "BatchMode=yes", "-o", "ConnectTimeout=10")


class SshDevice(Device):
    """A Linux machine reached by ssh: "device:ssh:user@host", with a key and no password."""

    takes_address = True

    def runner(self) -> Path:
        """The one of the machine's processor."""
        return runner_for(self.ask(["uname", "-m"]).strip())

    def command(self, words: Sequence[str]) -> list[str]:
        """The words as one quoted command for the shell there."""
        tool = need_tool("ssh", "openssh-client")
        return [tool, *_OPTIONS, self.address, "--", shlex.join(words)]

    def make_folder(self, here: Path) -> str:
        """A new folder in its /tmp."""
        return self.ask(["mktemp", "-d", "/tmp/etlab.XXXXXX"]).strip()

    def push(self, here: Path, there: str) -> None:
        """With scp."""
        self._copy(str(here), f"{self.address}:{there}")

    def pull(self, there: str, here: Path) -> None:
        """With scp."""
        self._copy(f"{self.address}:{there}", str(here))

    def remove_folder(self, there: str) -> None:
        """With rm."""
        with contextlib.suppress(DeviceError):
            self.ask(["rm", "-rf", there])

    def _copy(self, source: str, target: str) -> None:
        tool = need_tool("scp", "openssh-client")
        call([tool, "-q", "-r", *_OPTIONS, source, target], timeout=self.timeout)


DEVICE = SshDevice
