"""The child process that compiles for Ethos-U with ExecuTorch's Arm backend; started by file.

    python official_ethosu.py FOLDER

It reads `FOLDER/given.pt`, by name a TOSA graph and EthosUBackend's compile specs, pairs of keys
and bytes; and writes `FOLDER/made.pt`, by name the stream, what lies outside of it by key, and its
own specs for the same target.
"""

import sys
from pathlib import Path

import torch


def main(folder: Path) -> None:
    """Compile."""
    from executorch.backends.arm.ethosu import EthosUCompileSpec
    from executorch.backends.arm.ethosu.backend import EthosUBackend
    from executorch.exir.backend.compile_spec_schema import CompileSpec

    made = {}
    for name, (graph, given) in torch.load(folder / "given.pt").items():
        spec = EthosUCompileSpec._from_list([CompileSpec(key, value) for key, value in given])
        result = EthosUBackend._compile_tosa_flatbuffer(graph, spec)
        outside = {block.key: bytes(block.payload) for block in result.external_blocks}
        own = [(one.key, bytes(one.value)) for one in EthosUCompileSpec(spec.target)._to_list()]
        made[name] = bytes(result.processed_bytes), outside, own
    torch.save(made, folder / "made.pt")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
