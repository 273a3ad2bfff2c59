"""Writing texts with a language model's program.

runner = Runner("smollm2.pte", "tokenizer.json")
print(runner.generate("The capital of France is", max_new_tokens=8))
"""

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError, NotSupportedError
from etlab.llm.generation import Generation, GenerationConfig, Stats
from etlab.llm.stopping import StopTexts
from etlab.llm.tokenizers import TextStream, Tokenizer, load_tokenizer
from etlab.runtime import MethodMemory, Program, Runtime, _native
from etlab.runtime.memory import memory_from

__all__ = ["Generation", "GenerationConfig", "LanguageModel", "Runner", "Stats"]

PathLike = str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class LanguageModel:
    """What a program says of the language model in it.

    Attributes:
        max_context_length: tokens that a session can hold.
        max_prefill_length: tokens of one call of the model.
        is_prefill_fixed: whether a call takes just so many, or any number up to it.
        uses_cache: whether keys and values are kept between calls.
        can_step_back: whether the last tokens can be taken back. In a ring of places (sliding
            windows) they cannot: a text that does not go on is read from its beginning.
        shares_cache: whether two methods work on one cache, which only one session can use.
        vocabulary_size: how many tokens there are.
        bos_ids: the token that begins a text, if the program names it.
        eos_ids: tokens that end a text.
    """

    max_context_length: int
    max_prefill_length: int
    is_prefill_fixed: bool
    uses_cache: bool
    can_step_back: bool
    shares_cache: bool
    vocabulary_size: int
    bos_ids: tuple[int, ...]
    eos_ids: tuple[int, ...]


class Runner:
    """A language model's program with a tokenizer, and one text that grows.

    What a prompt shares with the text before it is taken from the cache. Generations release the
    GIL; a second one at the same time needs a session of its own, `new_session()`.

    Args:
        program: a path of a `.pte` file (or what `export_llm` returned), or a loaded `Program`.
        tokenizer: a file or folder (`load_tokenizer` says which), or a `Tokenizer`. Without one
            there are tokens only.
        data_path: the program's `.ptd` files.
        memory_map: map the program's file instead of reading it, so that its pages can be shared
            and dropped; it must not be rewritten in place while it is in use.

    Attributes:
        program: the loaded program.
        tokenizer: of its texts, if there is one.
        model: what the program says of its model.
        conversation: the `Chat` that `%%etchat` goes on with, if there is one.

    Raises:
        InvalidProgramError: the program is none, or no language model; the message says what lacks.
        NotFoundError: a file is not there.
    """

    def __init__(
        self,
        program: PathLike | Program,
        tokenizer: PathLike | Tokenizer | None = None,
        *,
        data_path: Any = None,
        memory_map: bool = True,
    ) -> None:
        started = time.time()
        self._reload: Callable[[], Program] | None = None
        if isinstance(program, Program):
            self.program, self._program_bytes = program, 0
        elif not isinstance(program, str | os.PathLike):
            raise InvalidArgumentError(
                "Runner: expected the path of a program or a loaded Program, got"
                f" {type(program).__name__}; bytes load with"
                " etlab.runtime.Runtime.get().load_program(data)"
            )
        else:
            path = Path(program)
            self._program_bytes = _sizes_of(path, data_path)

            def reload() -> Program:
                return Runtime.get().load_program(path, data_path=data_path, memory_map=memory_map)

            self._reload, self.program = reload, reload()
        self.tokenizer = (
            load_tokenizer(tokenizer) if isinstance(tokenizer, str | os.PathLike) else tokenizer
        )
        self._begin_session()
        self._loading = (started * 1000, time.time() * 1000)

    def _begin_session(self) -> None:
        self.conversation: Any = None
        self._session = _native.LlmSession.load(self.program._native)
        facts = self._session.model
        lists: dict[str, Any] = {key: tuple(facts.pop(key)) for key in ("bos_ids", "eos_ids")}
        self.model = LanguageModel(**facts, **lists)

    def new_session(self) -> "Runner":
        """Another text on the same program: it has a cache of its own and shares the weights.

        Raises:
            NotSupportedError: two methods share the cache of this program, and it was given as a
                `Program` object; give its path.
        """
        other = object.__new__(Runner)
        other.__dict__.update(self.__dict__)
        started = time.time()
        if self.model.shares_cache:
            if self._reload is None:
                raise NotSupportedError(
                    "the program's methods share one cache, which a second session cannot use:"
                    " give Runner the path of the program, so that it can be loaded again"
                )
            other.program = self._reload()
        other._begin_session()
        other._loading = (started * 1000, time.time() * 1000)
        return other

    def generate(
        self,
        prompt: str | Sequence[int],
        config: GenerationConfig | None = None,
        *,
        on_text: Callable[[str], Any] | None = None,
        on_token: Callable[[int], Any] | None = None,
        has_special: bool = False,
        **options: Any,
    ) -> Generation:
        """Write on after a prompt, which is the whole text so far.

        Args:
            prompt: text or tokens. A text gets the token that begins texts, where its tokenizer
                says that the model wants it.
            config: how; the most probable token, without an end but the model's own, by default.
            on_text: sees the text as it comes, whole characters at a time; False ends it.
            on_token: sees each token; False ends it.
            has_special: whether names of special tokens in the prompt mean these tokens.
            options: fields of `GenerationConfig` to change.

        Raises:
            InvalidArgumentError: an option of no meaning, a prompt without tokens, of another
                vocabulary, or longer than the context.
            NotSupportedError: there is no tokenizer for a text.
        """
        started = time.time()
        config = _with_options(config or GenerationConfig(temperature=0), options)
        tokens = self.encode(prompt, config, has_special=has_special)
        most = config.resolve_max_new_tokens(self.model.max_context_length, len(tokens))
        return self._run(tokens, most, config, on_text, on_token, started)

    def _run(
        self,
        tokens: list[int],
        most: int,
        config: GenerationConfig,
        on_text: Callable[[str], Any] | None,
        on_token: Callable[[int], Any] | None,
        started: float,
    ) -> Generation:
        encoded = time.time()
        written: list[int] = []
        pieces: list[str] = []
        stream = TextStream(self.tokenizer, tokens) if self.tokenizer is not None else None
        stop = StopTexts(config.stop)

        def give(text: str) -> bool:
            pieces.append(text)
            return on_text is None or not text or on_text(text) is not False

        def take(token: int) -> bool:
            written.append(token)
            goes_on = on_token is None or on_token(token) is not False
            if stream is not None:
                goes_on &= give(stop.push(stream.push(token)))
            return goes_on and not stop.is_found

        measured = self._session.generate(
            tokens, _sampler(config), most, self._stop_tokens(config), take
        )
        if stream is not None and not stop.is_found:
            give(stop.push(stream.flush()))
            if not stop.is_found:
                give(stop.flush())
        if stop.is_found:
            measured["finish_reason"] = "stop_text"
        stats = self._stats(measured, started, encoded)
        return Generation("".join(pieces), tuple(written), tuple(tokens), stats)

    def encode(
        self,
        prompt: str | Sequence[int],
        config: GenerationConfig | None = None,
        *,
        has_special: bool = False,
    ) -> list[int]:
        """The tokens of a prompt as `generate` takes them."""
        if not isinstance(prompt, str):
            return [int(token) for token in prompt]
        config = config or GenerationConfig()
        tokenizer = self.need_tokenizer()
        tokens = tokenizer.encode(prompt, has_special=has_special)
        bos = [tokenizer.bos_id] if tokenizer.bos_id is not None else list(self.model.bos_ids)
        begins = config.num_bos or int(tokenizer.adds_bos and tokens[:1] != bos)
        ends = [*tokenizer.eos_ids, *self.model.eos_ids][:1]
        _check_has("num_bos", config.num_bos, bos)
        _check_has("num_eos", config.num_eos, ends)
        return [*(bos * begins), *tokens, *(ends * config.num_eos)]

    def need_tokenizer(self) -> Tokenizer:
        """The tokenizer.

        Raises:
            NotSupportedError: there is none.
        """
        if self.tokenizer is None:
            raise NotSupportedError(
                "this runner has no tokenizer, so it takes and gives tokens only: give it one,"
                " Runner(program, 'tokenizer.json'), or a list of tokens as the prompt"
            )
        return self.tokenizer

    def _stop_tokens(self, config: GenerationConfig) -> list[int]:
        if config.ignore_eos:
            return []
        own = self.tokenizer.eos_ids if self.tokenizer is not None else ()
        return [*self.model.eos_ids, *own]

    def stop(self) -> None:
        """End the generation that is under way, within the current token; from any thread."""
        self._session.stop()

    def reset(self) -> None:
        """Forget the text."""
        self._session.rewind(0)

    @property
    def tokens(self) -> list[int]:
        """The tokens in the cache."""
        return self._session.tokens

    def memory(self) -> tuple[MethodMemory, ...]:
        """What the session holds, by method."""
        return tuple(memory_from(found) for found in self._session.memory())

    def _stats(self, measured: dict[str, Any], started: float, encoded: float) -> Stats:
        prefill, first, decode, sampling = (
            measured[f"{name}_ns"] / 1e6
            for name in ("prefill", "first_token", "decode", "sampling")
        )
        begin = encoded * 1000
        return Stats(
            model_load_start_ms=self._loading[0],
            model_load_end_ms=self._loading[1],
            inference_start_ms=started * 1000,
            token_encode_end_ms=begin,
            prompt_eval_end_ms=begin + prefill,
            first_token_ms=begin + (first or prefill),
            inference_end_ms=begin + prefill + decode,
            aggregate_sampling_time_ms=sampling,
            num_prompt_tokens=measured["prompt_tokens"],
            num_generated_tokens=measured["generated_tokens"],
            num_reused_tokens=measured["reused_tokens"],
            prefill_seconds=prefill / 1000,
            decode_seconds=decode / 1000,
            decode_steps=measured["decode_steps"],
            session_bytes=sum(method.total for method in self.memory()),
            program_bytes=self._program_bytes,
            finish_reason=measured["finish_reason"],
        )

    def __repr__(self) -> str:
        """Vocabulary, context and what is in it."""
        return (
            f"Runner(vocabulary of {self.model.vocabulary_size}, {len(self.tokens)} of"
            f" {self.model.max_context_length} tokens in the context)"
        )


def _sizes_of(path: Path, data_path: Any) -> int:
    """Bytes of a program and its data files, as far as they are files."""
    others = data_path if isinstance(data_path, list | tuple) else [data_path]
    files = [path, *(Path(other) for other in others if isinstance(other, str | os.PathLike))]
    return sum(file.stat().st_size for file in files if file.exists())


def _with_options(config: GenerationConfig, options: dict[str, Any]) -> GenerationConfig:
    try:
        return replace(config, **options)
    except TypeError as error:
        known = ", ".join(GenerationConfig.__dataclass_fields__)
        raise InvalidArgumentError(f"generate: {error}; GenerationConfig has {known}") from None


def _sampler(config: GenerationConfig) -> _native.SamplerOptions:
    if not isinstance(config.seed, int) or not 0 <= config.seed < 2**64:
        raise InvalidArgumentError(
            f"seed: expected a whole number from 0, below 2**64, got {config.seed!r}"
        )
    return _native.SamplerOptions(
        temperature=float(config.temperature),
        top_k=config.top_k,
        top_p=float(config.top_p),
        min_p=float(config.min_p),
        seed=config.seed,
    )


def _check_has(option: str, count: int, tokens: Sequence[int]) -> None:
    if count < 0:
        raise InvalidArgumentError(f"{option}: expected a number from 0, got {count}")
    if count > 0 and not tokens:
        raise InvalidArgumentError(
            f"{option} is {count}, but neither the tokenizer nor the program names such a token"
        )
