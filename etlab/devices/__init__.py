"""Devices: machines that run programs, `path="device:<name>"`, one file each, found by presence.

    run.run(inputs, path="device:aarch64-qemu")
    run.parity(paths=["native", "device:ssh:pi@raspberry"])

What stands behind the second colon is the device's address. The program and its inputs are pushed
there, `etlab-run` runs it, outputs and events are pulled back. A stand-in computes in this process,
in the place of hardware that is not here.
"""

import importlib
import inspect
import pkgutil

from etlab.devices.base import Device, DeviceAbsentError, DeviceError, StandIn
from etlab.devices.builder import Build, build
from etlab.devices.session import DeviceSession
from etlab.errors import NotFoundError

__all__ = [
    "Build",
    "Device",
    "DeviceAbsentError",
    "DeviceError",
    "DeviceSession",
    "StandIn",
    "build",
    "device",
    "list_devices",
]


def list_devices() -> dict[str, str]:
    """Every kind of device by name, with what it is in a sentence."""
    return {name: inspect.getdoc(kind) or "" for name, kind in sorted(_kinds().items())}


def device(name: str) -> Device | StandIn:
    """The device of a name as it stands behind "device:", for example "ssh:pi@raspberry".

    Raises:
        NotFoundError: there is no such kind of device.
        InvalidArgumentError: the address is missing, or the kind takes none.
    """
    kind, _, address = name.partition(":")
    kinds = _kinds()
    if kind not in kinds:
        raise NotFoundError(f"no device is called '{kind}': choose from {', '.join(sorted(kinds))}")
    return kinds[kind](address)


def _kinds() -> dict[str, type[Device | StandIn]]:
    found = {}
    for info in pkgutil.iter_modules(__path__):
        module = importlib.import_module(f"{__name__}.{info.name}")
        kind = getattr(module, "DEVICE", None)
        if kind is not None:
            found[info.name.replace("_", "-")] = kind
    return found
