"""SmolLM2-135M-Instruct: our programs beside transformers, torchao and ExecuTorch's runtime.

float:    logits and 64 greedy tokens of our fp32 program beside transformers' own decoder.
8da4w:    64 greedy tokens of our program, delegated to XNNPACK, beside the torchao model in eager,
          after the first sentences of ten packaged news stories.
official: programs in fp32 and 8da4w, delegated to XNNPACK, in ExecuTorch's runtime (a process of
          its own): the same tokens.
perplexity: of the 8da4w program beside the torchao model, on 2,048 tokens of the same stories.

    python benchmarks/language_models.py [float 8da4w official perplexity]
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import torch

from etlab.llm import export_llm, perplexity
from etlab.llm.checkpoints.gguf import open_gguf
from etlab.llm.checkpoints.names import their_name
from etlab.llm.export_llm.result import LlmExport
from etlab.llm.runner import Runner
from etlab.llm.transformer import Options, Transformer
from etlab.models import smollm2
from etlab.models.packages import package_file

TOKENS = 64
STORIES = "gensim/test/test_data/lee_background.cor"


def export(folder: Path, name: str, *words: str) -> LlmExport:
    """Export with a context of 1024, and tell what it took."""
    begin, cpu = time.time(), time.process_time()
    config = {
        "base": {"model_class": "smollm2", "checkpoint": smollm2.gguf_path()},
        "model": {"use_kv_cache": True, "use_sdpa_with_kv_cache": True},
        "export": {
            "output_dir": str(folder),
            "output_name": name,
            "max_seq_length": 512,
            "max_context_length": 1024,
        },
    }
    exported = export_llm(config, words)
    print(
        f"{name}: exported in {time.time() - begin:.1f} s ({time.process_time() - cpu:.1f} s of"
        f" processor time), {exported.path.stat().st_size / 1e6:.1f} MB"
    )
    return exported


def prompts() -> list[str]:
    """The first sentences of the first ten stories."""
    text = package_file("gensim", STORIES).read_text()
    return [story.split(". ")[0].strip() + "." for story in text.splitlines()[:10]]


def transformers_model() -> torch.nn.Module:
    """The decoder of the library transformers, with the weights of the packaged file."""
    import transformers

    checkpoint = open_gguf(Path(smollm2.gguf_path()))
    one = checkpoint.architecture
    config = transformers.LlamaConfig(
        vocab_size=one.vocabulary,
        hidden_size=one.width,
        intermediate_size=one.hidden,
        num_hidden_layers=one.layers,
        num_attention_heads=one.heads,
        num_key_value_heads=one.key_heads,
        rms_norm_eps=one.epsilon,
        max_position_embeddings=one.context,
        rope_parameters={"rope_type": "default", "rope_theta": one.rotary.base},
        tie_word_embeddings=True,
    )
    with torch.device("meta"):
        reference = transformers.LlamaForCausalLM(config)
        ours = Transformer(one, Options())
    checkpoint.fill(ours, torch.float32)
    state = {their_name("hugging_face", n): p for n, p in ours.state_dict().items() if "." in n}
    reference.load_state_dict(state, assign=True)
    reference.model.rotary_emb = type(reference.model.rotary_emb)(config)
    return reference.eval()


def compare_float(folder: Path, runner_prompts: list[str]) -> None:
    """Logits and greedy tokens against transformers."""
    full = export(folder, "full.pte", "debug.generate_full_logits=True")
    reference = transformers_model()
    runner = Runner(full, smollm2.gguf_path())
    tokens = torch.tensor([runner.encode(" ".join(runner_prompts))])[:, :256]
    expected = reference(tokens).logits
    method = runner.program.load_method("forward")
    (logits,) = method.execute([tokens, torch.tensor([0])])
    worst = (logits - expected).abs().max().item()
    print(f"float: largest difference of logits, {tokens.shape[1]} tokens: {worst:.2e}")
    prompt = runner.encode(runner_prompts[0])
    given = runner.generate(prompt, max_new_tokens=TOKENS, ignore_eos=True).tokens
    whole = reference.generate(
        torch.tensor([prompt]), max_new_tokens=TOKENS, min_new_tokens=TOKENS, do_sample=False
    )
    wanted = tuple(whole[0, len(prompt) :].tolist())
    print(f"float: {common(given, wanted)} of {TOKENS} greedy tokens are those of transformers")


def common(first: tuple[int, ...], second: tuple[int, ...]) -> int:
    """How many tokens two texts begin with in common."""
    pairs = zip(first, second, strict=False)
    return next((i for i, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def compare_eager(exported: LlmExport, runner_prompts: list[str]) -> None:
    """Greedy tokens against the torchao model, which is given ours and asked for the next ones.

    Beside it the torchao model against itself with scales of its embedding changed by 1e-7: what
    rounding to 8 bits makes of the noise that no two float implementations share.
    """
    runner = Runner(exported, smollm2.gguf_path())
    model = exported.run.model
    scales = model.embedding.scales
    noise = torch.randn(scales.shape, generator=torch.Generator().manual_seed(0))
    counts: dict[str, list[int]] = {"ours": [], "torchao with noise": []}
    shares = dict.fromkeys(counts, 0.0)
    for text in runner_prompts:
        prompt = runner.encode(text)
        given = runner.generate(prompt, max_new_tokens=TOKENS, ignore_eos=True).tokens
        words = torch.tensor([[*prompt, *given[:-1]]])
        model.embedding.scales = scales
        wanted = next_tokens(model, words, len(prompt))
        model.embedding.scales = scales * (1 + 1e-7 * noise)
        noisy = next_tokens(model, words, len(prompt))
        for name, other in (("ours", given), ("torchao with noise", noisy)):
            counts[name].append(common(other, wanted))
            same = sum(a == b for a, b in zip(other, wanted, strict=True))
            shares[name] += same / TOKENS / len(runner_prompts)
    for name, found in counts.items():
        whole = sum(count == TOKENS for count in found)
        print(
            f"8da4w: {name}: {shares[name]:.1%} of the tokens, {whole} of {len(found)} whole texts"
            f" of {TOKENS} are torchao's in eager; tokens before the first other one: {found}"
        )


def next_tokens(model: Transformer, words: torch.Tensor, prompt: int) -> tuple[int, ...]:
    """What a model holds most probable after the prompt and each word behind it."""
    logits = model.score(words, torch.tensor([0]))[0]
    return tuple(logits[prompt - 1 :].argmax(-1).tolist())


def compare_perplexity(exported: LlmExport) -> None:
    """Perplexity of the native program and of the torchao model in eager."""
    text = package_file("gensim", STORIES).read_text()
    how = {"tokenizer": smollm2.gguf_path(), "window": 256, "max_tokens": 2048}
    native = perplexity(exported, text, **how).value
    eager = perplexity(exported, text, path="quantized", **how).value
    print(f"8da4w: perplexity {native:.4f}, torchao's {eager:.4f}: {native / eager - 1:+.2%}")


OFFICIAL = """
import json, sys, torch
import executorch.kernels.quantized
from executorch.extension.llm.custom_ops import custom_ops
from executorch.runtime import Runtime
torch.set_num_threads(1)
path, prompts, count = json.loads(sys.argv[1])
program = Runtime.get().load_program(path)
texts = []
for prompt in prompts:
    method = program.load_method("forward")
    text, words, position = [], prompt, 0
    for _ in range(count):
        (logits,) = method.execute([torch.tensor([words]), torch.tensor([position])])
        position += len(words)
        words = [int(logits.reshape(-1, logits.shape[-1])[-1].argmax())]
        text += words
    texts.append(text)
print(json.dumps(texts))
"""


def compare_official(exported: LlmExport, runner_prompts: list[str]) -> None:
    """Greedy tokens against ExecuTorch's runtime on the same file."""
    runner = Runner(exported, smollm2.gguf_path())
    encoded = [runner.encode(text) for text in runner_prompts]
    task = json.dumps([str(exported), encoded, TOKENS])
    child = subprocess.run(
        [sys.executable, "-c", OFFICIAL, task], capture_output=True, text=True, check=False
    )
    if child.returncode:
        print(f"official: the child ended with {child.returncode}: {child.stderr[-600:]}")
        return
    texts = json.loads(child.stdout.splitlines()[-1])
    given = [runner.generate(one, max_new_tokens=TOKENS, ignore_eos=True).tokens for one in encoded]
    found = [common(ours, tuple(text)) for ours, text in zip(given, texts, strict=True)]
    same = sum(count == TOKENS for count in found)
    print(
        f"official, {exported.path.name}: {same} of {len(texts)} texts of {TOKENS} tokens are those"
        f" of its runtime; tokens before the first other one: {found}"
    )


def main() -> None:
    """Compare and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=["float", "8da4w", "official", "perplexity"])
    parts = parser.parse_args().parts
    torch.set_num_threads(1)
    torch.set_grad_enabled(False)
    sentences = prompts()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "float" in parts:
            compare_float(folder, sentences)
        if "official" in parts:
            words = ("backend.xnnpack.enabled=True", "backend.xnnpack.extended_ops=True")
            compare_official(export(folder, "delegated.pte", *words), sentences)
        if {"8da4w", "official", "perplexity"} & set(parts):
            exported = export(
                folder,
                "8da4w.pte",
                "quantization.qmode=8da4w",
                "quantization.group_size=32",
                "quantization.embedding_quantize=4,32",
                "backend.xnnpack.enabled=True",
                "backend.xnnpack.extended_ops=True",
                "debug.generate_full_logits=True",
            )
            if "official" in parts:
                compare_official(exported, sentences)
            if "perplexity" in parts:
                compare_perplexity(exported)
            if "8da4w" in parts:
                compare_eager(exported, sentences)
    print(f"peak memory: {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024:.0f} MB")


if __name__ == "__main__":
    main()
