"""Which Ethos-U a program is compiled for, and the system around it."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from etlab.errors import InvalidArgumentError
from etlab.exir.partition.compile_spec import CompileSpec

# NPU families, the sizes that each is made in (multiplications a cycle), and the system and memory
# mode of Vela's own description that ExecuTorch chooses where the user does not.
FAMILIES = {
    "u55": ((32, 64, 128, 256), "Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "u65": ((256, 512), "Ethos_U65_High_End", "Dedicated_Sram_384KB"),
    "u85": ((128, 256, 512, 1024, 2048), "Ethos_U85_SYS_DRAM_Mid", "Sram_Only"),
}
TARGETS = tuple(
    f"ethos-{name}-{size}" for name, (sizes, _, _) in FAMILIES.items() for size in sizes
)
SYSTEMS_FILE = "Arm/vela.ini"  # comes with Vela

# What each family adds to TOSA's integer profile, in ExecuTorch's words.
_SPECIFICATION = "TOSA-1.0+INT+int16+int4"
_EXTENSIONS = {"u55": "+u55", "u65": "+u55", "u85": "+cf"}
_FORMAT = "vela"
_PLACEMENTS = "external_block_placements"


@dataclass(frozen=True, slots=True)
class VelaExternalBlockPlacements:
    """Which parts of a delegate lie outside of the program, in which .ptd file each.

    Attributes:
        cmd_data: file of the command streams; None: in the program.
        weight_data: file of the weights, likewise.
    """

    cmd_data: str | None = None
    weight_data: str | None = None

    def __post_init__(self) -> None:
        """Refuse what names no file."""
        for name in self.to_block_placements().values():
            is_text = isinstance(name, str) and name and name.isascii()
            if not is_text or set(name) & set("/\\"):
                raise InvalidArgumentError(
                    f"VelaExternalBlockPlacements: expected a file name without folders, got"
                    f" {name!r}"
                )

    def to_block_placements(self) -> dict[str, str]:
        """The files by what lies in them."""
        both = {"cmd_data": self.cmd_data, "weight_data": self.weight_data}
        return {name: place for name, place in both.items() if place is not None}


@dataclass(frozen=True, slots=True)
class EthosUCompileSpec:
    """What Vela is told.

    Attributes:
        target: the NPU and its size: "ethos-u55-128".
        system_config: clock and memories, by their name in the systems' file; None: ExecuTorch's
            choice for the NPU.
        memory_mode: what lies in which memory, likewise.
        extra_flags: more arguments for Vela, such as "--optimise=Size".
        config_ini: a description of systems; Vela's own by default.
        external_block_placements: what lies outside of the program.
    """

    target: str
    system_config: str | None = None
    memory_mode: str | None = None
    extra_flags: Sequence[str] | None = None
    config_ini: str | None = SYSTEMS_FILE
    external_block_placements: VelaExternalBlockPlacements | None = None

    def __post_init__(self) -> None:
        """Refuse an NPU that is not made, and texts that would be read as several."""
        if self.target not in TARGETS:
            raise InvalidArgumentError(
                f"Ethos-U: there is no target {self.target!r}; choose from {', '.join(TARGETS)}"
            )
        for text in self.compiler_flags:
            if any(c.isspace() or not c.isprintable() for c in text):
                raise InvalidArgumentError(
                    f"Ethos-U: expected a text without spaces, got {text!r}; options are stored"
                    " with spaces between them"
                )
            if not text.startswith("--"):
                raise InvalidArgumentError(
                    f"Ethos-U: extra_flags are options of Vela, '--name=value'; got {text!r}"
                )

    @property
    def family(self) -> str:
        """The kind of NPU: "u55", "u65" or "u85"."""
        return self.target.split("-")[1]

    @property
    def system(self) -> str:
        """The system's name."""
        return self.system_config or FAMILIES[self.family][1]

    @property
    def mode(self) -> str:
        """The memory mode's name."""
        return self.memory_mode or FAMILIES[self.family][2]

    @property
    def placements(self) -> Mapping[str, str]:
        """What lies outside of the program, and in which file."""
        given = self.external_block_placements
        return given.to_block_placements() if given is not None else {}

    @property
    def compiler_flags(self) -> list[str]:
        """The arguments of Vela that decide about its result, in ExecuTorch's order."""
        return [
            *(self.extra_flags or ()),
            f"--accelerator-config={self.target}",
            f"--config={self.config_ini or SYSTEMS_FILE}",
            "--output-format=raw",
            f"--system-config={self.system}",
            f"--memory-mode={self.mode}",
        ]

    def to_list(self) -> list[CompileSpec]:
        """As programs store them."""
        texts = {
            "tosa_spec": f"{_SPECIFICATION}{_EXTENSIONS[self.family]}",
            "compile_flags": " ".join(self.compiler_flags),
            "output_format": _FORMAT,
            "preserve_io_quantization": "False",
            "target": self.target,
        }
        if self.placements:
            texts[_PLACEMENTS] = json.dumps(self.placements, sort_keys=True, separators=(",", ":"))
        return [CompileSpec(key, text.encode()) for key, text in texts.items()]


def read_compile_specs(specs: Mapping[str, bytes]) -> EthosUCompileSpec:
    """What a list of compile specs says, as `EthosUCompileSpec.to_list` or ExecuTorch wrote it.

    Raises:
        InvalidArgumentError: they are not those of this backend.
    """
    texts = {key: bytes(value).decode(errors="replace") for key, value in specs.items()}
    if texts.get("output_format") != _FORMAT:
        raise InvalidArgumentError(
            f"EthosUBackend: expected the compile spec output_format={_FORMAT!r}, got"
            f" {texts.get('output_format')!r}; use etlab's EthosUPartitioner"
        )
    own = {"accelerator-config", "config", "system-config", "memory-mode", "output-format"}
    found: dict[str, str] = {}
    extra = []
    for flag in texts.get("compile_flags", "").split():
        name, _, value = flag.removeprefix("--").partition("=")
        if name in own:
            found[name] = value
        else:
            extra.append(flag)
    try:
        outside = json.loads(texts.get(_PLACEMENTS, "{}"))
        placements = VelaExternalBlockPlacements(**outside) if outside else None
    except (ValueError, TypeError) as error:
        raise InvalidArgumentError(
            f"EthosUBackend: the compile spec {_PLACEMENTS} is {texts[_PLACEMENTS]!r}: {error}"
        ) from None
    return EthosUCompileSpec(
        found.get("accelerator-config") or texts.get("target", ""),
        found.get("system-config"),
        found.get("memory-mode"),
        tuple(extra),
        found.get("config", SYSTEMS_FILE),
        placements,
    )
