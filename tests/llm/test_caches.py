"""Windows, sinks and caches of integers: the same as attention over the whole text."""

import dataclasses
from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import CACHED, Conversation, checkpoint, tokens

from etlab.errors import InvalidArgumentError
from etlab.llm import export_llm
from etlab.llm.cache import Reach
from etlab.llm.export_llm.reading import read_config
from etlab.llm.transformer import Transformer

TEXT = tokens(40)
# One call as long as may be, single tokens, and calls that go around the ring.
CALLS = [8, 1, 1, 8, 3, 1, 8, 1, 1, 8]


def export(path: Path, **model: Any) -> Any:
    return export_llm(
        {
            "base": {"model_class": "llama3_2", "checkpoint": str(path)},
            "model": CACHED | model,
            "export": {
                "output_dir": str(path.parent),
                "max_seq_length": 8,
                "max_context_length": 48,
            },
            "debug": {"generate_full_logits": True},
        }
    )


def whole(model: Transformer, *reaches: Reach) -> torch.Tensor:
    """Logits of the whole text at once, where layers see that far."""
    chosen = dataclasses.replace(model.options, reaches=reaches)
    again = Transformer(model.architecture, chosen)
    again.load_state_dict(model.state_dict())
    return again.eval()(TEXT)[0].detach()


def said(exported: Any) -> torch.Tensor:
    talk = Conversation(exported)
    return torch.cat([talk.say(part)[0] for part in TEXT.split(CALLS, dim=1)])


@pytest.mark.parametrize("is_fused", [True, False])
@pytest.mark.parametrize(
    ("chosen", "reaches"),
    [
        ({"local_global_attention": [5]}, [Reach(5)]),
        ({"local_global_attention": [0, 11]}, [Reach(), Reach(11)]),
        ({"use_attention_sink": "4,6"}, [Reach(6, 4)]),
    ],
)
def test_a_ring_of_places_is_as_good_as_the_whole_text(
    tmp_path: Path, chosen: dict[str, Any], reaches: list[Reach], is_fused: bool
) -> None:
    model, path = checkpoint(tmp_path)
    exported = export(path, use_sdpa_with_kv_cache=is_fused, **chosen)
    torch.testing.assert_close(said(exported), whole(model, *reaches), rtol=1e-4, atol=1e-4)


def test_a_window_needs_no_more_places_than_it_sees_and_a_call_writes(tmp_path: Path) -> None:
    _, path = checkpoint(tmp_path)
    exported = export(path, local_global_attention=[0, 5])
    state = {
        name: tensor.shape[1]
        for name, tensor in exported.run.model.named_buffers()
        if name.endswith("keys")
    }
    assert list(state.values()) == [48, 5 - 1 + 8]


def test_a_window_of_the_architecture_is_kept(tmp_path: Path) -> None:
    model, path = checkpoint(tmp_path, sliding_window=5)
    torch.testing.assert_close(said(export(path)), whole(model), rtol=1e-4, atol=1e-4)
    assert not torch.allclose(whole(model), whole(model, Reach()), atol=0.1)


@pytest.mark.parametrize(
    "chosen", [{}, {"use_sdpa_with_kv_cache": False}, {"local_global_attention": [0, 11]}]
)
def test_a_cache_of_integers_computes_what_eager_does_with_one(
    tmp_path: Path, chosen: dict[str, Any]
) -> None:
    model, path = checkpoint(tmp_path)
    exported = export(path, quantize_kv_cache=True, **chosen)
    given, eager = said(exported), exported.run.model
    eager.make_state()
    starts = torch.tensor([0, *CALLS]).cumsum(0)
    expected = torch.cat(
        [
            eager(part, torch.tensor([start]))[0]
            for start, part in zip(starts.tolist(), TEXT.split(CALLS, dim=1), strict=False)
        ]
    )
    torch.testing.assert_close(given, expected, rtol=1e-3, atol=2e-2)
    reaches = [Reach(one or None) for one in chosen.get("local_global_attention", [0])]
    exact = whole(model, *reaches)
    error = (given - exact).pow(2).mean() / exact.pow(2).mean()
    assert 1e-7 < error < 1e-3


def test_a_cache_of_integers_takes_less_than_a_third_of_the_memory(tmp_path: Path) -> None:
    _, path = checkpoint(tmp_path, head_dim=64)

    def nbytes(**model: Any) -> int:
        buffers = export(path, **model).run.model.named_buffers()
        return sum(one.nbytes for name, one in buffers if "store" in name)

    assert nbytes(quantize_kv_cache=True) < nbytes() / 3


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["model.use_attention_sink=4"], "two numbers as in '4,124'"),
        (["model.use_attention_sink=4,0"], "above 0"),
        (["model.use_attention_sink=4,125"], "4 \\+ 125 tokens"),
        (["model.use_attention_sink=4,9", "model.local_global_attention=[3]"], "exclude"),
        (["model.local_global_attention=[-3]"], "from 0"),
        (["model.local_global_attention=3"], "list"),
    ],
)
def test_a_reach_that_makes_no_sense_is_refused(words: list[str], message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        read_config(None, ["model.use_kv_cache=True", *words])
