"""Logits of every token of a text, on every path that a language model can be computed on."""

import copy
from collections.abc import Callable, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch

from etlab.errors import InvalidArgumentError, NotFoundError
from etlab.llm.checkpoints.open import open_checkpoint
from etlab.llm.export_llm.config import LlmConfig, QuantizationConfig
from etlab.llm.export_llm.model import make_model
from etlab.llm.export_llm.result import LlmExport
from etlab.llm.tokenizers import Tokenizer, load_tokenizer
from etlab.llm.transformer import Options, Transformer

# From the tokens of one call, (1, length), and the first one's position, (1), to logits: those of
# all tokens, (1, length, vocabulary), or of the last one, (1, vocabulary).
Forward = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]

PATHS = ("eager", "quantized", "exported", "native")


class Scorer:
    """A language model that is asked for the logits of whole texts.

    Args:
        forward: one call, on state that remembers the earlier ones; positions begin anew at 0.
        longest_call: most tokens of one call; 1 where a call gives the last token's logits alone.
        context: most tokens of a text.
    """

    def __init__(self, forward: Forward, longest_call: int, context: int) -> None:
        self.forward, self.longest_call, self.context = forward, longest_call, context

    @torch.no_grad()
    def __call__(self, tokens: Sequence[int], begin: int = 0) -> torch.Tensor:
        """Logits of what follows each token.

        Args:
            tokens: of a text, from `begin` on.
            begin: position of the first; what stands before was given in earlier calls.

        Returns:
            (tokens, vocabulary) float32.

        Raises:
            InvalidArgumentError: there are none, or more than the context holds.
        """
        if not tokens or begin + len(tokens) > self.context:
            raise InvalidArgumentError(
                f"a text of {begin + len(tokens)} tokens: expected 1 to {self.context}, the context"
            )
        parts = []
        for start in range(0, len(tokens), self.longest_call):
            words = torch.tensor([tokens[start : start + self.longest_call]])
            logits = self.forward(words, torch.tensor([begin + start]))
            parts.append(logits.reshape(-1, logits.shape[-1]).float().clone())
        return torch.cat(parts)


def score_module(model: Transformer) -> Scorer:
    """A module in eager, which gives all logits here; its cache is written."""
    options = model.options

    def forward(tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = model.score(tokens, position if options.has_cache else None)
        return logits

    longest = options.longest_call if options.has_cache else options.context
    return Scorer(forward, longest, options.context)


def scorer(exported: LlmExport, path: str) -> Scorer:
    """A path of an exported language model.

    Args:
        exported: what `export_llm` returned.
        path: "eager": the model of the checkpoint in float, loaded again; "quantized": the module
            that was exported, in eager; "exported": the exported program; "native": our runtime.

    Raises:
        NotFoundError: there is no such path.
        InvalidArgumentError: the model has no cache of keys and values.
    """
    if path not in PATHS:
        raise NotFoundError(f"no path '{path}': choose from {', '.join(PATHS)}")
    model: Any = exported.run.model
    options: Options = model.options
    if not options.has_cache:
        raise InvalidArgumentError("scoring needs a cache: export with model.use_kv_cache=True")
    if path == "quantized":
        return score_module(model)
    if path == "eager":
        return score_module(_float_model(exported.config))
    forward = _exported(exported) if path == "exported" else native_forward(exported.path)
    can_all = options.has_full_logits and options.is_dynamic
    return Scorer(forward, options.longest_call if can_all else 1, options.context)


def _float_model(config: LlmConfig) -> Transformer:
    plain = copy.deepcopy(config)
    plain.quantization, plain.model.quantize_kv_cache = QuantizationConfig(), False
    return make_model(plain, open_checkpoint(plain.base))


def _exported(exported: LlmExport) -> Forward:
    module: Any = exported.run.exported.module()
    for part in module.modules():  # the program was made of these tensors: its state is its own
        for name, tensor in list(part.named_buffers(recurse=False)):
            if _is_state(name):
                part._buffers[name] = tensor.clone()
    return lambda tokens, position: module(tokens, position)


def _is_state(name: str) -> bool:
    return name.startswith(("keys", "values"))


def native_forward(program: Path) -> Forward:
    """Calls of a program's `forward` in our runtime, with state of their own.

    Args:
        program: its file.
    """
    from etlab.runtime import Runtime

    method = Runtime.get().load_program(program, memory_map=True).load_method("forward")
    assert method is not None

    def forward(tokens: torch.Tensor, position: torch.Tensor) -> torch.Tensor:
        (logits,) = method.execute([tokens, position])
        found: torch.Tensor = logits
        return found

    return forward


def as_tokenizer(tokenizer: Any) -> Tokenizer | None:
    """A tokenizer, from one or from its file."""
    if isinstance(tokenizer, str | PathLike):
        return load_tokenizer(tokenizer)
    found: Tokenizer | None = tokenizer
    return found


def as_tokens(
    who: str, text: str | Sequence[int], tokenizer: Tokenizer | None, *, has_special: bool = False
) -> list[int]:
    """The tokens of a text, or those that are given.

    Args:
        who: asks.
        text: a text, or tokens.
        tokenizer: which a text needs.
        has_special: whether names of special tokens in a text mean these tokens.

    Raises:
        InvalidArgumentError: a text without a tokenizer.
    """
    if not isinstance(text, str):
        return [int(token) for token in text]
    if tokenizer is None:
        raise InvalidArgumentError(
            f"{who}: a text needs tokenizer=, a Tokenizer or its file; or give tokens"
        )
    return tokenizer.encode(text, has_special=has_special)
