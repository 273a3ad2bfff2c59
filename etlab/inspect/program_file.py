"""`ProgramFile`: a .pte file, ours or the official exporter's, with the same views."""

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab import display
from etlab.errors import AccessError, InvalidArgumentError

if TYPE_CHECKING:
    from etlab.inspect.netron import NetronView
    from etlab.inspect.size import SizeReport
    from etlab.runtime import Program


@dataclass(frozen=True, eq=False)
class ProgramFile:
    """The bytes of a program and what can be said of them.

    Attributes:
        data: the whole file.
        name: file name for titles.
    """

    data: bytes = field(repr=False)
    name: str = "program.pte"

    @cached_property
    def program(self) -> "Program":
        """The program loaded in our runtime, verified in full.

        Raises:
            InvalidProgramError: the file is damaged, foreign or too new.
        """
        from etlab.runtime import Runtime

        return Runtime.get().load_program(self.data)

    @property
    def methods(self) -> list[str]:
        """Names of the methods."""
        return sorted(self.program.method_names)

    def run(self, inputs: Any, method: str = "forward") -> list[Any]:
        """The flat outputs of one call of our runtime.

        Args:
            inputs: a tensor, or a tuple of the method's inputs.
            method: which one to call.
        """
        from etlab.runtime import Runtime

        loaded = Runtime.get().load_program(self.data).load_method(method)
        if loaded is None:
            raise InvalidArgumentError(
                f"{self.name}: no method '{method}'; there are: {', '.join(self.methods)}"
            )
        return list(loaded.execute(list(inputs) if isinstance(inputs, tuple) else [inputs]))

    def save(self, path: str | Path) -> Path:
        """Write the file; returns where.

        Raises:
            AccessError: the place cannot be written.
        """
        target = Path(path)
        try:
            target.write_bytes(self.data)
        except OSError as error:
            raise AccessError(f"cannot write '{path}': {error.strerror}") from error
        return target

    def size(self) -> "SizeReport":
        """What fills the file."""
        from etlab.inspect.size import size_report

        return size_report(self.data, title=self.name)

    def netron(self, *, weights: bool = False, height: int = 480) -> "NetronView":
        """The file in a Netron view that asks no network for anything.

        Args:
            weights: embed the weights too; without them a view is small and shows zeros.
            height: of the view, in pixels.
        """
        from etlab.inspect.netron import NetronView

        return NetronView.of(self.data, name=self.name, weights=weights, height=height)

    def __repr__(self) -> str:
        """One line."""
        return f"ProgramFile({self.name}, {display.format_bytes(len(self.data))})"


def load(path: str | Path) -> ProgramFile:
    """Open a .pte file, whoever wrote it, and verify it.

    Raises:
        AccessError: the file cannot be read.
        InvalidProgramError: it is damaged, foreign or too new.
    """
    source = Path(path)
    try:
        data = source.read_bytes()
    except OSError as error:
        raise AccessError(f"cannot read '{path}': {error.strerror}") from error
    file = ProgramFile(data, name=source.name)
    _ = file.program
    return file
