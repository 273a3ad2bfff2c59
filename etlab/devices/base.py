"""What a device is: a way to put files there, to run a command there, and to fetch files back."""

import contextlib
import importlib.util
import shlex
import shutil
import subprocess
from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar

from etlab.errors import (
    EtlabError,
    InterruptedExecutionError,
    InvalidArgumentError,
    NotSupportedError,
)
from etlab.numerics.stopping import interruptible


class DeviceError(EtlabError):
    """A device cannot be reached or a step on it failed; the message has the tool's words."""


class DeviceAbsentError(DeviceError, NotSupportedError):
    """A tool or a build that this device needs is missing; the message says how to get it."""


class Device(ABC):
    """One machine that programs run on.

    A subclass's file ends with `DEVICE = <the class>`; the file's name is the device's.

    Args:
        address: what stands behind the second colon of "device:<name>:<address>".

    Attributes:
        timeout: seconds for one step such as copying a file.
    """

    takes_address: ClassVar[bool] = False
    shares_files: ClassVar[bool] = False  # its files are this machine's
    timeout: float = 120.0

    def __init__(self, address: str = "") -> None:
        if address and not self.takes_address:
            raise InvalidArgumentError(f"this device takes no address, got '{address}'")
        if not address and self.takes_address:
            raise InvalidArgumentError(f"this device needs an address: {self.__doc__}")
        if address.startswith("-"):
            raise InvalidArgumentError(f"device address '{address}' looks like an option")
        self.address = address

    @abstractmethod
    def runner(self) -> Path:
        """The `etlab-run` on this machine that fits the device.

        Raises:
            DeviceAbsentError: it has not been built.
        """

    @abstractmethod
    def command(self, words: Sequence[str]) -> list[str]:
        """What to start here so that `words` run there, with their standard streams.

        Raises:
            DeviceAbsentError: a tool is missing.
        """

    @abstractmethod
    def make_folder(self, here: Path) -> str:
        """Make an empty folder there, which may be `here` itself, and return its path."""

    @abstractmethod
    def push(self, here: Path, there: str) -> None:
        """Copy a file or folder to the path `there`, where nothing stands yet."""

    @abstractmethod
    def pull(self, there: str, here: Path) -> None:
        """Copy a folder to the path `here`, where nothing stands yet."""

    @abstractmethod
    def remove_folder(self, there: str) -> None:
        """Remove what `make_folder` made; errors are of no interest any more."""

    def ask(self, words: Sequence[str]) -> str:
        """Run a command there and return what it prints."""
        return call(self.command(words), timeout=self.timeout)


class HereDevice(Device):
    """A device that shares the files of this machine: nothing is copied."""

    shares_files = True

    def make_folder(self, here: Path) -> str:
        """The folder itself."""
        return str(here)

    def push(self, here: Path, there: str) -> None:
        """Nothing: both are one."""

    def pull(self, there: str, here: Path) -> None:
        """Nothing: both are one."""

    def remove_folder(self, there: str) -> None:
        """Nothing: the folder belongs to the caller."""


class StandIn:
    """What computes in this process in the place of hardware that is not here.

    A subclass's file ends with `DEVICE = <the class>`; the file's name is the device's.

    Attributes:
        name: that delegates ask for with `etlab.runtime.stands_in`.
        needs: the module that it computes with.
        way_out: how to get that.

    Raises:
        DeviceAbsentError: the module is not installed.
    """

    name: ClassVar[str]
    needs: ClassVar[str]
    way_out: ClassVar[str]

    def __init__(self, address: str = "") -> None:
        if address:
            raise InvalidArgumentError(f"device '{self.name}' takes no address, got '{address}'")
        if importlib.util.find_spec(self.needs) is None:
            raise DeviceAbsentError(
                f"device '{self.name}' needs {self.needs}, which is not installed: {self.way_out}"
            )


def need_tool(name: str, package: str) -> str:
    """The path of a program, or a `DeviceAbsentError` that names its Debian package."""
    found = shutil.which(name)
    if found is None:
        raise DeviceAbsentError(f"{name} is not installed: apt-get install {package}")
    return found


def call(words: Sequence[str], *, timeout: float) -> str:
    """Run a tool to its end and return its standard output; a stop request ends it.

    Raises:
        DeviceError: it fails or takes longer than `timeout` seconds.
        InterruptedExecutionError: the stage listener of this context asked for a stop.
    """
    stopped = False
    process = subprocess.Popen(
        list(words),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )

    def stop() -> None:
        nonlocal stopped
        stopped = True
        process.kill()

    try:
        with interruptible(stop):
            output, errors = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        raise DeviceError(f"{shlex.join(words)}: no end after {timeout:g} s") from None
    finally:
        with contextlib.suppress(OSError):
            process.kill()
        process.wait()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
    if stopped:
        raise InterruptedExecutionError(f"{words[0]}: stopped")
    if process.returncode != 0:
        said = errors.strip() or output.strip() or f"exit code {process.returncode}"
        raise DeviceError(f"{shlex.join(words)}: {said}")
    return output
