"""What is compared: the parts of an `ExportRun` that comparisons of operators look at."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

import torch
from torch.export import ExportedProgram

if TYPE_CHECKING:
    from etlab.exir import EdgeProgramManager, ExecutorchProgramManager
    from etlab.exir.emit.file import ProgramData


class File(Protocol):
    """A program file; `etlab.inspect.program_file.ProgramFile` is one."""

    @property
    def content(self) -> "ProgramData":
        """The file as dataclasses."""

    @property
    def tensor_data(self) -> Mapping[str, bytes]:
        """The .ptd files that the program needs, by name."""


class Subject(Protocol):
    """A model at its stages; `etlab.run.ExportRun` is one."""

    @property
    def name(self) -> str:
        """The model's name."""

    @property
    def model(self) -> torch.nn.Module:
        """The user's module."""

    @property
    def exported(self) -> ExportedProgram:
        """What `torch.export` made of it."""

    @property
    def quantized(self) -> ExportedProgram | None:
        """The quantized exported program, where there is one."""

    @property
    def delegated(self) -> "EdgeProgramManager":
        """The edge programs after partitioning."""

    @property
    def program(self) -> "ExecutorchProgramManager":
        """The finished program."""

    @property
    def file(self) -> File:
        """The program as a file."""
