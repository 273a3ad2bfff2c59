"""Perplexity: how surprised a language model is by a text."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from etlab.errors import InvalidArgumentError
from etlab.llm.export_llm.result import LlmExport
from etlab.llm.scoring import Scorer, as_tokenizer, as_tokens, scorer
from etlab.session import options

OnProgress = Callable[[int, int, float], Any]


@dataclass(frozen=True, slots=True)
class Perplexity:
    """How surprised a model is: `exp` of the mean negative log-likelihood of a token.

    Attributes:
        value: the perplexity.
        tokens: that were predicted.
        windows: stretches of the text, each read afresh.
    """

    value: float
    tokens: int
    windows: int

    def __float__(self) -> float:
        """The perplexity."""
        return self.value


def perplexity(
    model: LlmExport | Scorer,
    text: str | Sequence[int],
    *,
    tokenizer: Any = None,
    path: str = "native",
    window: int | None = None,
    max_tokens: int | None = None,
    on_progress: OnProgress | None = None,
) -> Perplexity:
    """Measure a language model on a text.

    The text is cut into windows, and each is read without the others: all of its tokens but the
    first are predicted. A program that gives the logits of the last token alone is asked token by
    token; `debug.generate_full_logits=True` makes it many times as fast.

    Args:
        model: what `export_llm` returned, or a `Scorer`.
        text: any text, or tokens.
        tokenizer: a `Tokenizer` or its file; needed for a text.
        path: of an export: "eager", "quantized", "exported" or "native".
        window: tokens of a window; the context by default.
        max_tokens: read no more than so many tokens of the text.
        on_progress: sees the tokens that were read, how many there are, and the perplexity so far;
            by default a bar where progress is shown (`etlab.options.progress`).

    Raises:
        InvalidArgumentError: a text without a tokenizer or of less than two tokens, or a window
            that the context does not hold.
    """
    one = model if isinstance(model, Scorer) else scorer(model, path)
    tokens = as_tokens("perplexity", text, as_tokenizer(tokenizer))[:max_tokens]
    size = one.context if window is None else window
    if not 2 <= size <= one.context:
        raise InvalidArgumentError(f"window: expected 2 to {one.context} tokens, got {window}")
    if len(tokens) < 2:
        raise InvalidArgumentError("perplexity: expected a text of two tokens or more")
    windows = [tokens[start : start + size] for start in range(0, len(tokens), size)]
    windows = [part for part in windows if len(part) > 1]
    loss, predicted, read = 0.0, 0, 0
    with _Bar(len(tokens), on_progress) as bar:
        for part in windows:
            logits = one(part[:-1])
            target = torch.tensor(part[1:])
            loss += float(torch.nn.functional.cross_entropy(logits, target, reduction="sum"))
            predicted += len(target)
            read += len(part)
            bar.move(read, math.exp(loss / predicted))
    return Perplexity(math.exp(loss / predicted), predicted, len(windows))


class _Bar:
    """A callback that is told how far it went, or a bar where one is wanted."""

    def __init__(self, total: int, on_progress: OnProgress | None) -> None:
        self.total, self.on_progress = total, on_progress
        self.bar: Any = None

    def __enter__(self) -> "_Bar":
        if self.on_progress is None and options.progress:
            from tqdm.auto import tqdm

            self.bar = tqdm(total=self.total, unit="token", leave=False)
        return self

    def __exit__(self, *error: object) -> None:
        if self.bar is not None:
            self.bar.close()

    def move(self, done: int, value: float) -> None:
        if self.on_progress is not None:
            self.on_progress(done, self.total, value)
        if self.bar is not None:
            self.bar.set_postfix_str(f"perplexity {value:.3f}")
            self.bar.update(done - self.bar.n)
