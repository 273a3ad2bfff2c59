"""What TOSABackend is told: the specification that a graph keeps to."""

from dataclasses import dataclass

from etlab.errors import NotSupportedError
from etlab.exir.partition.compile_spec import CompileSpec

INTEGERS = "TOSA-1.0+INT+int16"


@dataclass(frozen=True, slots=True)
class TosaCompileSpec:
    """Options of TOSABackend.

    Attributes:
        tosa_spec: version and profiles, as "TOSA-1.0+INT+int16".
    """

    tosa_spec: str = INTEGERS

    def __post_init__(self) -> None:
        """Refuse what there is no lowering for."""
        version, *parts = str(self.tosa_spec).split("+")
        if version not in ("TOSA-1.0", "TOSA-1.0.0") or "INT" not in parts:
            raise NotSupportedError(
                f"TosaCompileSpec: graphs are written for TOSA 1.0 with integers, {INTEGERS!r}; "
                f"got {self.tosa_spec!r}"
            )

    @property
    def has_wide_activations(self) -> bool:
        """Whether activations may have 16 bits."""
        return "int16" in self.tosa_spec.split("+")

    def to_list(self) -> list[CompileSpec]:
        """As programs store them."""
        return [
            CompileSpec("tosa_spec", str(self.tosa_spec).encode()),
            CompileSpec("output_format", b"tosa"),
        ]
