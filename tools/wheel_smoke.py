"""What a freshly installed wheel must do: export, write, load and run a small model."""

import tempfile
from pathlib import Path

import torch
from torch import nn

import etlab
from etlab.exir import to_edge_transform_and_lower
from etlab.runtime import Runtime


def main() -> None:
    """Lower a small network, run it natively and compare with eager."""
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(5, 7), nn.ReLU(), nn.Linear(7, 3)).eval()
    inputs = (torch.randn(2, 5),)
    program = to_edge_transform_and_lower(torch.export.export(model, inputs)).to_executorch()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pte"
        path.write_bytes(program.buffer)
        method = Runtime.get().load_program(path).load_method("forward")
        assert method is not None
        (output,) = method.execute(list(inputs))
    torch.testing.assert_close(output, model(*inputs), atol=1e-5, rtol=1e-5)
    assert not Path("etlab").exists(), "this must run outside the checkout"
    print(f"etlab {etlab.__version__} from {Path(etlab.__file__).parent}: works")


if __name__ == "__main__":
    main()
