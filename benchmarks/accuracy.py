"""What integers cost trained models on real data: float, simulated in PyTorch, and native.

weights:  EfficientNet-Lite0 with int8 weights only, one scale a tensor and one a channel: top-1
          agreement with float on several draws of 64 crops (one draw differs from another by six
          points: their mean is the number).
lite0:    EfficientNet-Lite0 in static int8, calibrated on crops of another draw.
silero:   Silero VAD in static int8 over the labelled recording, state kept: calibrated on one half,
          frames of the other half scored, both ways.
minilm:   MiniLM in dynamic int8: lowest cosine of sentence embeddings, and the correlation with
          human judgement of 1225 pairs of news stories.
smollm2:  SmolLM2-135M in 8da4w: perplexity of news stories in windows, beside the same torchao
          model in eager.

    python benchmarks/accuracy.py [weights lite0 silero minilm smollm2]
"""

import argparse
import copy
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F  # noqa: N812

import etlab
from etlab.llm.tokenizers.gguf import tokenizer_of
from etlab.models import efficientnet_lite0, minilm, photographs, silero_vad, smollm2, speech
from etlab.models.gguf import GgufFile
from etlab.models.packages import package_file
from etlab.quantize import QuantizeRequest, find_quantizer

NEWS = "gensim/test/test_data/"


def native(run: Any) -> Callable[..., torch.Tensor]:
    """The first output of a run's program, natively."""
    method = etlab.runtime.Runtime.get().load_program(run.file.data).load_method("forward")
    return lambda *inputs: method.execute(list(inputs))[0].clone()


def logits_of(call: Callable[..., Any], crops: torch.Tensor) -> torch.Tensor:
    return torch.cat([call(crop[None]) for crop in crops])


def agreement(actual: torch.Tensor, reference: torch.Tensor) -> float:
    """Share of rows with the same largest entry, in percent."""
    return 100 * float((actual.argmax(1) == reference.argmax(1)).float().mean())


def weights(draws: int = 9) -> None:
    model = efficientnet_lite0.load()
    crops = [photographs.crops(64, seed=seed) for seed in range(draws)]
    expected = [model(batch) for batch in crops]
    batch = torch.export.Dim("batch", min=2, max=64)
    for is_per_channel in (False, True):
        quantizer = find_quantizer("int8-weights", min_elements=0, per_channel=is_per_channel)
        inputs = (crops[0][:2],)
        exported = torch.export.export(model, inputs, dynamic_shapes=({0: batch},), strict=False)
        request = QuantizeRequest(model, exported, inputs, [inputs], ({0: batch},))
        call = quantizer.quantize(request).module()
        shares = [agreement(call(x), y) for x, y in zip(crops, expected, strict=True)]
        print(
            f"weights, a scale a {'channel' if is_per_channel else 'tensor'}: top-1 agreement"
            f" {np.mean(shares):.1f} % of {64 * draws} crops; draws of 64 from {min(shares):.1f} to"
            f" {max(shares):.1f} %",
            flush=True,
        )


def lite0(count: int = 200) -> None:
    model = efficientnet_lite0.load()
    calibration = [(crop[None],) for crop in photographs.crops(32, seed=1)]
    crops = photographs.crops(count)
    expected = logits_of(model, crops)
    run = etlab.export(
        model, calibration[0], quantizer="int8", calibration=calibration, partitioner="xnnpack"
    )
    simulated = logits_of(run.quantized.module(), crops)
    found = logits_of(native(run), crops)
    print(
        f"lite0: top-1 agreement with float on {count} crops: simulated"
        f" {agreement(simulated, expected):.1f} %, native {agreement(found, expected):.1f} %"
    )


def silero() -> None:
    chunks, is_speech = speech.chunks(silero_vad.CHUNK)
    half = len(chunks) // 2
    halves = {"first": slice(0, half), "second": slice(half, len(chunks))}
    for measured, scored in (("first", "second"), ("second", "first")):
        model = silero_vad.load()
        calibration = [(chunk,) for chunk in chunks[halves[measured]]]
        run = etlab.export(
            model, (chunks[0],), quantizer="int8", calibration=calibration, partitioner="xnnpack"
        )
        calls = {"native": native(run), "float": copy.deepcopy(model)}
        calls["simulated"] = copy.deepcopy(run.quantized).module()
        right = {}
        for name, call in calls.items():
            heard = torch.stack([call(chunk).reshape(()) > 0.5 for chunk in chunks])
            right[name] = 100 * float((heard == is_speech)[halves[scored]].float().mean())
        print(
            f"silero: calibrated on the {measured} half, frames of the {scored}: float"
            f" {right['float']:.1f} %, simulated {right['simulated']:.1f} %, native"
            f" {right['native']:.1f} %",
            flush=True,
        )


def correlation(embeddings: torch.Tensor) -> float:
    """Pearson's, of cosines with human judgement, over all pairs of different stories."""
    path = package_file("gensim", f"{NEWS}similarities0-1.txt")
    judged = np.loadtxt(path)
    upper = np.triu_indices(len(judged), 1)
    return float(np.corrcoef((embeddings @ embeddings.T).numpy()[upper], judged[upper])[0, 1])


def minilm_sentences() -> None:
    model = minilm.load()
    stories = package_file("gensim", f"{NEWS}lee.cor").read_text("latin-1").splitlines()
    pairs = [minilm.batch([story]) for story in stories]
    length = torch.export.Dim("length", min=2, max=128)
    run = etlab.export(
        model,
        pairs[0],
        quantizer="int8-dynamic",
        partitioner="xnnpack",
        dynamic_shapes=({1: length}, {1: length}),
    )
    expected = torch.cat([model(*pair) for pair in pairs])
    call = native(run)
    found = torch.cat([call(*pair) for pair in pairs])
    print(
        f"minilm: lowest cosine {float((expected * found).sum(1).min()):.4f}; correlation with"
        f" people: float {correlation(expected):.4f}, native {correlation(found):.4f}"
    )


def perplexity(
    call: Callable[[torch.Tensor], torch.Tensor], tokens: list[int], window: int
) -> float:
    loss, count = 0.0, 0
    for begin in range(0, len(tokens) - window, window):
        seen = torch.tensor([tokens[begin : begin + window]])
        wanted = torch.tensor(tokens[begin + 1 : begin + window + 1])
        loss += float(F.cross_entropy(call(seen)[0], wanted, reduction="sum"))
        count += window
    return math.exp(loss / count)


def smollm2_text(window: int = 256, count: int = 4096) -> None:
    from etlab.quantize.intx.flow import quantize_module

    tokenizer = tokenizer_of(GgufFile(smollm2.gguf_path()).metadata)
    text = package_file("gensim", f"{NEWS}lee_background.cor").read_text()
    tokens = tokenizer.encode(text[: 8 * count])[: count + 1]
    quantizer = find_quantizer("8da4w")
    model = smollm2.load(longest=window)
    run = etlab.export(
        model, (torch.tensor([tokens[:window]]),), quantizer=quantizer, partitioner="xnnpack"
    )
    found = perplexity(native(run), tokens, window)
    size = len(run.file.data)
    del run
    in_float = perplexity(model, tokens, window)
    expected = perplexity(quantize_module(model, quantizer._scheme()), tokens, window)
    print(
        f"smollm2: perplexity of {count} tokens in windows of {window}: the 4-bit checkpoint read"
        f" as float {in_float:.3f}, 8da4w in eager {expected:.3f}, native {found:.3f}"
        f" ({100 * (found / expected - 1):+.2f} %), {size / 1e6:.0f} MB"
    )


PARTS = {
    "weights": weights,
    "lite0": lite0,
    "silero": silero,
    "minilm": minilm_sentences,
    "smollm2": smollm2_text,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], default=list(PARTS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    with torch.no_grad():
        for part in arguments.parts:
            PARTS[part]()


if __name__ == "__main__":
    main()
