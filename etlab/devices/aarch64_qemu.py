"""AArch64 under qemu-user: the numerics of another instruction set on this machine."""

from collections.abc import Sequence
from pathlib import Path

from etlab.devices.base import HereDevice, need_tool
from etlab.devices.builder import runner_for


class Aarch64QemuDevice(HereDevice):
    """AArch64, emulated by qemu-user on this machine. True numbers, meaningless times."""

    def runner(self) -> Path:
        """The cross-built one."""
        need_tool("qemu-aarch64", "qemu-user")
        return runner_for("aarch64")

    def command(self, words: Sequence[str]) -> list[str]:
        """The words under the emulator."""
        return [need_tool("qemu-aarch64", "qemu-user"), *words]


DEVICE = Aarch64QemuDevice
