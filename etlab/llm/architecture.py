"""What a language model is made of: the numbers that tell one family from another."""

from dataclasses import dataclass
from typing import Literal

from etlab.errors import InvalidArgumentError


@dataclass(frozen=True, slots=True)
class Llama3Scaling:
    """Llama 3.1's slower rotation of long wavelengths.

    Attributes:
        factor: how many times longer the context became.
        low: wavelengths above `original_context / low` are slowed by the whole factor.
        high: wavelengths below `original_context / high` stay as they are.
        original_context: tokens that the model was first trained on.
    """

    factor: float = 8.0
    low: float = 1.0
    high: float = 4.0
    original_context: int = 8192


@dataclass(frozen=True, slots=True)
class LinearScaling:
    """All positions divided by one factor."""

    factor: float


@dataclass(frozen=True, slots=True)
class LongScaling:
    """LongRoPE (arXiv 2402.13753): a factor for every wavelength.

    Attributes:
        short: factors up to `original_context` tokens, one for each pair of columns.
        long: factors beyond.
        original_context: tokens that the model was first trained on.
        longest: tokens that the model was finally trained on.
        attention: what cosines and sines are multiplied by; None: by the paper's formula.
    """

    short: tuple[float, ...]
    long: tuple[float, ...]
    original_context: int
    longest: int
    attention: float | None = None


@dataclass(frozen=True, slots=True)
class Rotary:
    """Rotary positions: columns i and i + width/2 of a head turn together.

    Attributes:
        base: theta; wavelengths grow up to 2 pi theta tokens.
        width: columns of a head that turn; the others stay as they are.
        scaling: how a longer context is reached.
    """

    base: float
    width: int
    scaling: Llama3Scaling | LinearScaling | LongScaling | None = None

    def __post_init__(self) -> None:
        """Refuse what has no pairs."""
        if self.width < 2 or self.width % 2:
            raise InvalidArgumentError(
                f"rotary positions turn pairs of columns: expected an even width, got {self.width}"
            )
        if isinstance(self.scaling, LongScaling):
            for name in ("short", "long"):
                count = len(getattr(self.scaling, name))
                if count != self.width // 2:
                    raise InvalidArgumentError(
                        f"rope_scaling.{name}_factor: expected {self.width // 2} factors, got"
                        f" {count}"
                    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Architecture:
    """A decoder of the Llama kind.

    Attributes:
        width: columns of a token's row.
        layers: how many.
        heads: of queries.
        key_heads: of keys and values; each serves `heads / key_heads` queries.
        head_width: columns of a head.
        hidden: columns inside of the gated feed-forward.
        vocabulary: number of tokens.
        context: most tokens that the model was trained on.
        rotary: how positions enter.
        epsilon: of the norms.
        has_query_key_norm: rows of every query and key head are normalized before they turn.
        has_input_bias: queries, keys and values have a bias.
        has_output_bias: the attention's output has a bias.
        is_tied: the output layer is the embedding.
        activation: of the gate.
        window: tokens that a layer sees of the past; None: all of them.
        first_token: which begins a text; None: nothing does.
        end_tokens: any of which ends one.
    """

    width: int
    layers: int
    heads: int
    key_heads: int
    head_width: int
    hidden: int
    vocabulary: int
    rotary: Rotary
    context: int = 2048
    epsilon: float = 1e-5
    has_query_key_norm: bool = False
    has_input_bias: bool = False
    has_output_bias: bool = False
    is_tied: bool = False
    activation: Literal["silu", "gelu", "gelu_tanh"] = "silu"
    window: int | None = None
    first_token: int | None = None
    end_tokens: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        """Refuse what no tensors could have."""
        for name in ("width", "layers", "heads", "key_heads", "head_width", "hidden", "vocabulary"):
            value = getattr(self, name)
            if not isinstance(value, int) or value < 1:
                raise InvalidArgumentError(f"{name}: expected a number above 0, got {value!r}")
        if self.heads % self.key_heads:
            raise InvalidArgumentError(
                f"{self.heads} heads of queries are no multiple of {self.key_heads} of keys"
            )
        if self.rotary.width > self.head_width:
            raise InvalidArgumentError(
                f"{self.rotary.width} columns turn, a head has {self.head_width}"
            )
