"""ExecuTorch's documented runner of language models."""

from collections.abc import Callable
from typing import Any

from etlab.llm.generation import GenerationConfig, Stats
from etlab.llm.runner import PathLike, Runner
from etlab.llm.tokenizers import Tokenizer


class TextLLMRunner:
    """Writes texts; each prompt stands behind all that was said before, until `reset`.

    `Runner` is the fuller face, which takes the whole text at every call.

    Args:
        model_path: of the program.
        tokenizer_path: of its tokenizer, or a `Tokenizer`.
        data_path: of the program's data file.

    Raises:
        EtlabError: as `Runner`.
    """

    def __init__(
        self,
        model_path: PathLike,
        tokenizer_path: PathLike | Tokenizer,
        data_path: PathLike | None = None,
    ) -> None:
        self.runner = Runner(model_path, tokenizer_path, data_path=data_path)
        self._text: list[int] = []

    def generate(
        self,
        prompt: str,
        config: GenerationConfig | None = None,
        token_callback: Callable[[str], Any] | None = None,
        stats_callback: Callable[[Stats], Any] | None = None,
    ) -> None:
        """Write on after a prompt.

        Args:
            prompt: what comes next; names of special tokens in it mean these tokens.
            config: how.
            token_callback: sees the prompt, if `config.echo`, and the text as it comes.
            stats_callback: sees the statistics, unless `config.warming`.

        Raises:
            InvalidArgumentError: an option of no meaning, or the context is full.
        """
        config = config or GenerationConfig()
        if config.echo and token_callback is not None:
            token_callback(prompt)
        result = self.runner.generate(
            self._continued(prompt, config), config, on_text=token_callback
        )
        self._text = [*result.prompt_tokens, *result.tokens]
        if stats_callback is not None and not config.warming:
            stats_callback(result.stats)

    def prefill(self, prompt: str, config: GenerationConfig | None = None) -> None:
        """Take a text into the cache without writing on; raises as `generate`."""
        text = self._continued(prompt, config or GenerationConfig())
        self.runner.generate(text, max_new_tokens=0)
        self._text = text

    def _continued(self, prompt: str, config: GenerationConfig) -> list[int]:
        tokens = self.runner.encode(prompt, config, has_special=True)
        # What the tokenizer itself puts before a text belongs before the first one only.
        bos = self.runner.tokenizer.bos_id if self.runner.tokenizer is not None else None
        has_own_bos = config.num_bos == 0 and tokens[:1] == [bos]
        return [*self._text, *(tokens[1:] if self._text and has_own_bos else tokens)]

    def stop(self) -> None:
        """End the generation that is under way; from any thread."""
        self.runner.stop()

    def reset(self) -> None:
        """Forget everything that was said."""
        self.runner.reset()
        self._text = []

    def get_vocab_size(self) -> int:
        """How many tokens the model knows."""
        return self.runner.model.vocabulary_size

    def __repr__(self) -> str:
        """As the runner's."""
        return f"TextLLMRunner({self.runner!r})"
