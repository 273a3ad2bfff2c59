"""The data of a bench: what quantizers are calibrated on, and what paths are judged on."""

import itertools
from collections.abc import Mapping
from typing import Any

import ipywidgets
import torch

EXAMPLE = "example"


class DataPicker(ipywidgets.VBox):
    """A set of samples by name, and how many of them.

    Args:
        calibration: samples as `etlab.export` takes them, several such by name, or None.

    Attributes:
        sets: samples by name; None for the example alone.
    """

    def __init__(self, calibration: Any) -> None:
        self.sets: dict[str, Any] = {EXAMPLE: None}
        self._is_mapping = isinstance(calibration, Mapping)
        if isinstance(calibration, Mapping):
            self.sets.update({str(name): given for name, given in calibration.items()})
        elif calibration is not None:
            self.sets["calibration"] = calibration
        self.dropdown = ipywidgets.Dropdown(
            options=list(self.sets),
            value=list(self.sets)[-1],
            description="Data",
            tooltip="Data: samples to calibrate quantizers and to compare paths on",
            layout={"width": "260px"},
        )
        self.count = ipywidgets.BoundedIntText(
            value=8,
            min=1,
            max=4096,
            description="samples",
            tooltip="the first so many of the set",
            continuous_update=False,
            layout={"width": "160px"},
            disabled=self.dropdown.value == EXAMPLE,
        )
        self.dropdown.observe(self._on_set, "value")
        super().__init__([self.dropdown, self.count])

    def _on_set(self, _: Any) -> None:
        self.count.disabled = self.dropdown.value == EXAMPLE

    @property
    def samples(self) -> Any:
        """What `etlab.export` takes as calibration; None for the example alone."""
        chosen = self.sets[str(self.dropdown.value)]
        if chosen is None:
            return None
        if isinstance(chosen, torch.Tensor | tuple):
            return chosen
        return list(itertools.islice(chosen, int(self.count.value)))

    @property
    def code(self) -> str:
        """The Python for `calibration=`; empty for the example alone."""
        name = str(self.dropdown.value)
        if name == EXAMPLE:
            return ""
        given = f"calibration[{name!r}]" if self._is_mapping else "calibration"
        if isinstance(self.sets[name], torch.Tensor | tuple):
            return given
        return f"list(itertools.islice({given}, {int(self.count.value)}))"
