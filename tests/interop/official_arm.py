"""The child process that lowers with ExecuTorch's Arm backend; started by file.

    python official_arm.py FOLDER

It reads `FOLDER/specs.pt`, pairs of keys and bytes, as TOSABackend's compile specs, and writes
`FOLDER/official.pte`, `FOLDER/results.pt` (inputs, outputs of the quantized model) and, last,
`FOLDER/spec.txt`, the specification that it found in the compile specs.
"""

import sys
from pathlib import Path

import torch
from torch import nn


class Layers(nn.Module):
    """What an NPU has, in one model."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.first = nn.Conv2d(3, 8, 3, 2, 1)
        self.deep = nn.Conv2d(8, 8, 3, groups=8, padding=1)
        self.last = nn.Linear(48, 5)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """(1, 3, 9, 7) to (1, 5)."""
        x = self.first(x).relu()
        x = nn.functional.max_pool2d(x + torch.sigmoid(self.deep(x)), 2, 1)[:, :, 1:, :2]
        result: torch.Tensor = self.last(x.flatten(1))
        return result


def main(folder: Path) -> None:
    """Lower and run."""
    from executorch.backends.arm.quantizer import (
        TOSAQuantizer,
        get_symmetric_quantization_config,
    )
    from executorch.backends.arm.tosa.compile_spec import TosaCompileSpec
    from executorch.backends.arm.tosa.partitioner import TOSAPartitioner
    from executorch.exir import to_edge_transform_and_lower
    from executorch.exir.backend.compile_spec_schema import CompileSpec
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    given = [CompileSpec(key, value) for key, value in torch.load(folder / "specs.pt")]
    found = TosaCompileSpec._from_list(given)
    spec = TosaCompileSpec("TOSA-1.0+INT")
    quantizer = TOSAQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    inputs = (torch.linspace(-2, 2, 189).sin().reshape(1, 3, 9, 7),)
    prepared = prepare_pt2e(torch.export.export(Layers().eval(), inputs).module(), quantizer)
    prepared(*inputs)
    exported = torch.export.export(convert_pt2e(prepared), inputs)
    edge = to_edge_transform_and_lower(exported, partitioner=[TOSAPartitioner(spec)])
    (folder / "official.pte").write_bytes(edge.to_executorch().buffer)
    torch.save((inputs, exported.module()(*inputs)), folder / "results.pt")
    (folder / "spec.txt").write_text(str(found.tosa_spec))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
