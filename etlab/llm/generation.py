"""What a generation is asked for, and what is measured of it; ExecuTorch's names."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass

from etlab.errors import InvalidArgumentError


@dataclass(kw_only=True)
class GenerationConfig:
    """How a text is written on. The first seven fields are ExecuTorch's, with its defaults.

    Attributes:
        echo: whether the callback of `TextLLMRunner.generate` gets the prompt first.
        max_new_tokens: at most so many new tokens; -1: as `seq_len` and the context allow.
        warming: a run to warm up: its statistics are given to nobody.
        seq_len: at most so many tokens in all; -1: as the context allows.
        temperature: 0 takes the most probable token; the larger, the more surprising.
        num_bos: how many tokens that begin a text are put before the prompt.
        num_eos: how many tokens that end a text are put behind it.
        ignore_eos: write on behind tokens that end a text.
        top_k: draw from that many of the most probable tokens only; 0: all.
        top_p: draw from the fewest tokens whose probabilities add up to this; 1: all.
        min_p: leave out tokens less probable than this share of the most probable one.
        seed: the same seed, prompt and program give the same text.
        stop: texts that end the generation, and are not part of its result.
    """

    echo: bool = True
    max_new_tokens: int = -1
    warming: bool = False
    seq_len: int = -1
    temperature: float = 0.8
    num_bos: int = 0
    num_eos: int = 0
    ignore_eos: bool = False
    top_k: int = 0
    top_p: float = 1.0
    min_p: float = 0.0
    seed: int = 0
    stop: Sequence[str] = ()

    def resolve_max_new_tokens(self, max_context_len: int, num_tokens_occupied: int) -> int:
        """How many new tokens there may be.

        >>> GenerationConfig(seq_len=100).resolve_max_new_tokens(2048, 30)
        70

        Args:
            max_context_len: tokens that the context of the program holds.
            num_tokens_occupied: tokens that are in it, the prompt's included.
        """
        for name in ("max_new_tokens", "seq_len"):
            if getattr(self, name) < -1:
                raise InvalidArgumentError(
                    f"{name}: expected a number from 0, or -1 for no limit, got"
                    f" {getattr(self, name)}"
                )
        total = max_context_len if self.seq_len == -1 else min(self.seq_len, max_context_len)
        room = max(0, total - num_tokens_occupied)
        return room if self.max_new_tokens == -1 else min(room, self.max_new_tokens)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """Times and counts of one generation. Names that end in `_ms` are ExecuTorch's: milliseconds.

    Attributes:
        model_load_start_ms: when the program began to load, of the system's clock.
        model_load_end_ms: when it was ready.
        inference_start_ms: when the generation began, with the text of the prompt.
        token_encode_end_ms: when the prompt was tokens.
        prompt_eval_end_ms: when the model had read the prompt.
        first_token_ms: when the first new token was there.
        inference_end_ms: when the last one was.
        aggregate_sampling_time_ms: spent on choosing tokens.
        num_prompt_tokens: of the whole prompt.
        num_generated_tokens: new ones.
        num_reused_tokens: of the prompt, which were in the cache and were not computed again.
        decode_seconds: from the first new token to the last.
        decode_steps: runs of the model in that time.
        prefill_seconds: that the model took to read the rest of the prompt.
        session_bytes: what the session holds: cache, activations, packed weights.
        program_bytes: of the program and its data files.
        finish_reason: "stop_token", "stop_text", "length", "context", "stopped" or "callback".
    """

    model_load_start_ms: float
    model_load_end_ms: float
    inference_start_ms: float
    token_encode_end_ms: float
    prompt_eval_end_ms: float
    first_token_ms: float
    inference_end_ms: float
    aggregate_sampling_time_ms: float
    num_prompt_tokens: int
    num_generated_tokens: int
    num_reused_tokens: int
    prefill_seconds: float
    decode_seconds: float
    decode_steps: int
    session_bytes: int
    program_bytes: int
    finish_reason: str

    @property
    def load_seconds(self) -> float:
        """How long the program took to load."""
        return (self.model_load_end_ms - self.model_load_start_ms) / 1000

    @property
    def time_to_first_token(self) -> float:
        """Seconds from the call to the first new token."""
        return (self.first_token_ms - self.inference_start_ms) / 1000

    @property
    def prefill_rate(self) -> float:
        """Tokens of the prompt a second; those in the cache before do not count."""
        computed = self.num_prompt_tokens - self.num_reused_tokens
        return computed / self.prefill_seconds if self.prefill_seconds > 0 else 0.0

    @property
    def decode_rate(self) -> float:
        """New tokens a second, without the first, which the prefill gives."""
        return self.decode_steps / self.decode_seconds if self.decode_seconds > 0 else 0.0

    def to_json_string(self) -> str:
        """All fields and rates as JSON."""
        rates = {
            "prefill_token_per_sec": self.prefill_rate,
            "decode_token_per_sec": self.decode_rate,
        }
        return json.dumps({**rates, **dataclasses.asdict(self)})

    def __str__(self) -> str:
        """One line for people."""
        return (
            f"{self.num_generated_tokens} tokens, {self.decode_rate:.1f} tok/s"
            f" (prompt: {self.num_prompt_tokens - self.num_reused_tokens} of"
            f" {self.num_prompt_tokens} tokens, {self.prefill_rate:.1f} tok/s; first token after"
            f" {self.time_to_first_token * 1000:.0f} ms)"
        )


@dataclass(frozen=True, slots=True)
class Generation:
    """A text that a model wrote.

    Attributes:
        text: without the prompt; empty when there is no tokenizer.
        tokens: of it.
        prompt_tokens: of the whole prompt.
        stats: times and counts.
    """

    text: str
    tokens: tuple[int, ...]
    prompt_tokens: tuple[int, ...]
    stats: Stats

    def __str__(self) -> str:
        """The text."""
        return self.text
