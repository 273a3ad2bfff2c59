"""SmolLM2-135M-Instruct from its packaged GGUF file."""

from pathlib import Path

import pytest
import torch

from etlab.errors import NotFoundError
from etlab.llm.checkpoints.gguf import open_gguf
from etlab.llm.transformer import Options, Transformer
from etlab.models import smollm2


def test_the_packaged_model_computes_what_the_tutorials_model_does() -> None:
    """That one is held to transformers in tests/models."""
    try:
        checkpoint = open_gguf(Path(smollm2.gguf_path()))
    except NotFoundError as error:
        pytest.skip(str(error))
    with torch.device("meta"):
        model = Transformer(checkpoint.architecture, Options())
    checkpoint.fill(model, torch.float32)
    model.make_state()
    tokens = torch.randint(49152, (1, 11), generator=torch.Generator().manual_seed(0))
    with torch.no_grad():
        expected = smollm2.load(longest=16)(tokens)
        given = torch.cat(
            [
                model.score(tokens[:, :8], torch.tensor([0])),
                model.score(tokens[:, 8:], torch.tensor([8])),
            ],
            dim=1,
        )
    torch.testing.assert_close(given, expected, rtol=1e-4, atol=1e-3)
    assert checkpoint.architecture.is_tied
    assert checkpoint.architecture.end_tokens == (2,)
