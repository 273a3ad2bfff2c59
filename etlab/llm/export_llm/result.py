"""What `export_llm` returns."""

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from etlab.llm.architecture import Architecture
from etlab.llm.export_llm.config import LlmConfig

if TYPE_CHECKING:
    from etlab.run import ExportRun


@dataclass(frozen=True, slots=True)
class LlmExport:
    """A language model's program, which may be used as the path of its file.

    Attributes:
        path: of the program.
        config: what it was made by.
        architecture: what the model is made of.
        run: the model at every stage, with all reports: `run.delegation()`, `run.memory_plan()` …
    """

    path: Path
    config: LlmConfig
    architecture: Architecture
    run: "ExportRun"

    @property
    def cache_bytes(self) -> int:
        """Size of the cache of keys and values, for a whole context."""
        model: Any = self.run.model
        return sum(one.nbytes for name, one in model.named_buffers() if ".store." in name)

    def __fspath__(self) -> str:
        """The path of the program."""
        return str(self.path)

    def __str__(self) -> str:
        """The path of the program."""
        return str(self.path)
