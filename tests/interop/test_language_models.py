"""Programs of language models cross to ExecuTorch's runtime and come from its exporter."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import CACHED, Conversation, checkpoint, tokens

from etlab.llm import export_llm
from etlab.numerics.official import is_available
from etlab.runtime import Runtime

SCRIPT = Path(__file__).with_name("official_language_models.py")
DELEGATED = {"backend": {"xnnpack": {"enabled": True, "extended_ops": True}}}
FEW_BITS = {"qmode": "8da4w", "group_size": 32, "embedding_quantize": "4,32"}
PROGRAMS: dict[str, dict[str, Any]] = {
    "plain": {},
    "delegated": DELEGATED,
    "few bits": {"quantization": FEW_BITS, **DELEGATED},
    "dynamic alone": {
        "quantization": FEW_BITS | {"embedding_quantize": "2,32"},
        "backend": {"xnnpack": {"enabled": True}},
    },
    "integers in the cache": {"model": CACHED | {"quantize_kv_cache": True}},
    "sink": {"model": CACHED | {"use_attention_sink": "4,6"}},
    "parts": {"model": {"use_kv_cache": True}, "quantization": {"embedding_quantize": "8,0"}},
}

pytestmark = pytest.mark.skipif(not is_available(), reason="executorch is not installed")


def official(folder: Path, *arguments: str) -> None:
    """Run the script in a folder: the official exporter writes where it stands."""
    child = subprocess.run(
        [sys.executable, str(SCRIPT), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=folder,
    )
    assert child.returncode == 0, child.stderr[-2000:]


def official_logits(folder: Path, calls: dict[str, Any]) -> dict[str, list[torch.Tensor]]:
    task = folder / "task.json"
    task.write_text(json.dumps(calls))
    official(folder, "run", str(task), str(folder / "result.pt"))
    said: dict[str, list[torch.Tensor]] = torch.load(folder / "result.pt")
    return said


def export(folder: Path, name: str, path: Path) -> Any:
    config = {
        "base": {"model_class": "llama3_2", "checkpoint": str(path)},
        "model": CACHED,
        "export": {
            "output_dir": str(folder),
            "output_name": f"{name.replace(' ', '_')}.pte",
            "max_seq_length": 8,
            "max_context_length": 32,
        },
    }
    return export_llm(config | PROGRAMS[name])


def test_our_programs_say_the_same_in_the_official_runtime(tmp_path: Path) -> None:
    """Call after call: a prompt, single tokens, a longer part; and around the ring of a window."""
    _, path = checkpoint(tmp_path)
    exported = {name: export(tmp_path, name, path) for name in PROGRAMS}
    text = tokens(24).split([8, 1, 1, 6, 8], dim=1)
    calls = {str(one): [part[0].tolist() for part in text] for one in exported.values()}
    said = official_logits(tmp_path, calls)
    for name, one in exported.items():
        talk = Conversation(one)
        given = torch.cat([talk.say(part) for part in text])
        expected = torch.cat(said[str(one)])
        is_rounded = "quantization" in PROGRAMS[name] or "integers" in name
        atol = 0.05 if is_rounded else 1e-4
        torch.testing.assert_close(given, expected, rtol=1e-3, atol=atol, msg=name)
        assert given.argmax(-1).equal(expected.argmax(-1)), name


@pytest.mark.skipif("ETLAB_FULL" not in os.environ, reason="ETLAB_FULL is not set: two minutes")
def test_an_official_program_says_the_same_here(tmp_path: Path) -> None:
    official(tmp_path, "export", str(tmp_path))
    file = str(tmp_path / "official.pte")
    text = tokens(24).split([8, 1, 1, 6, 8], dim=1)
    said = official_logits(tmp_path, {file: [part[0].tolist() for part in text]})
    method, position = Runtime.get().load_program(file).load_method("forward"), 0
    for part, expected in zip(text, said[file], strict=True):
        (given,) = method.execute([part, torch.tensor([position])])
        torch.testing.assert_close(given, expected, rtol=1e-3, atol=0.05)
        assert given.argmax(-1).equal(expected.argmax(-1))
        position += part.shape[1]
    ours = export_llm(
        {
            "base": {
                "model_class": "llama3_2",
                "checkpoint": str(tmp_path / "consolidated.00.pth"),
                "metadata": '{"get_bos_id": 1, "get_eos_ids": [2]}',
            },
            "model": CACHED,
            "export": {
                "output_dir": str(tmp_path),
                "max_seq_length": 32,
                "max_context_length": 32,
            },
            "quantization": FEW_BITS,
            **DELEGATED,
        }
    )
    assert set(Runtime.get().load_program(file).method_names) == set(
        Runtime.get().load_program(str(ours)).method_names
    )
    talk = Conversation(ours)
    for part, expected in zip(text, said[file], strict=True):
        torch.testing.assert_close(talk.say(part), expected, rtol=1e-2, atol=0.1)
