"""Operators that ExecuTorch defines, too: whichever package is imported first, both work."""

import importlib.util
import subprocess
import sys

import pytest

OURS = "import etlab.quantize.intx.embedding, etlab.llm.operators, etlab.llm.blocks"
THEIRS = "import executorch.exir, executorch.extension.llm.custom_ops.custom_ops"
LOOK_UP = """
import torch
table, scales = torch.tensor([[1, 2], [3, 4]], dtype=torch.int8), torch.tensor([0.5, 2.0])
rows = torch.ops.quantized_decomposed.embedding_byte(
    table, scales, None, -128, 127, torch.tensor([1])
)
assert rows.tolist() == [[6.0, 8.0]], rows
torch.ops.llama.custom_sdpa.default
"""
BLOCKS = """
from etlab.llm.blocks import BlockLinear, Blocks
blocks = Blocks(torch.ones(4, 32, dtype=torch.int8), torch.ones(4, 1, dtype=torch.float16), None)
torch.export.export(BlockLinear(blocks, None), (torch.randn(2, 32),))
"""


@pytest.mark.skipif(
    importlib.util.find_spec("executorch") is None, reason="executorch is not installed"
)
@pytest.mark.parametrize("lines", [(OURS, THEIRS), (THEIRS, OURS)], ids=["ours", "theirs"])
def test_both_packages_work_whichever_is_imported_first(lines):
    script = "\n".join(["import torch, torchao", lines[0], LOOK_UP, lines[1], LOOK_UP, BLOCKS])
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
