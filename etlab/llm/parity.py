"""Token-level parity: for one text, the logits of every path, position by position."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch

from etlab import display
from etlab.errors import InvalidArgumentError
from etlab.inspect.table import Table
from etlab.llm.export_llm.result import LlmExport
from etlab.llm.scoring import PATHS, Scorer, as_tokenizer, as_tokens, scorer
from etlab.llm.tokenizers import Tokenizer

if TYPE_CHECKING:
    import pandas

_TOP = 5


@dataclass(frozen=True, slots=True)
class PositionRow:
    """One path at one position, beside the reference.

    Attributes:
        position: of the token.
        token: its text, or its number where there is no tokenizer.
        path: which is compared.
        expected: what the reference takes to be most probable next.
        got: what the path takes.
        top5: how many of the reference's five most probable tokens are among the path's.
        kl: from the reference's probabilities to the path's, in nats.
        difference: largest one of two logits.
    """

    position: int
    token: str
    path: str
    expected: str
    got: str
    top5: int
    kl: float
    difference: float


@dataclass(frozen=True, slots=True)
class PathRow:
    """One path over the whole text.

    Attributes:
        path: which is compared.
        same: share of positions with the same most probable token.
        top5: mean share of the reference's five most probable tokens among the path's.
        kl: mean over the positions, in nats.
        difference: largest one of two logits.
        diverges_at: the first new token at which greedy decoding differs, counted from 0; None
            where it does not.
        instead: what is written there, in place of what.
    """

    path: str
    same: float
    top5: float
    kl: float
    difference: float
    diverges_at: int | None
    instead: str


@dataclass(frozen=True, slots=True, repr=False)
class TokenParity:
    """Paths of a language model beside each other, on a prompt and what the reference writes next.

    Attributes:
        reference: the path that is right by definition.
        prompt: its tokens.
        written: the tokens that the reference wrote, greedily.
        text: of the prompt and of what was written, where there is a tokenizer.
        paths: one row a path.
        positions: one row a path and position.
        logits: by path, (prompt + written - 1, vocabulary) float32.
    """

    reference: str
    prompt: tuple[int, ...]
    written: tuple[int, ...]
    text: str
    paths: Table[PathRow]
    positions: Table[PositionRow]
    logits: dict[str, torch.Tensor]

    def to_dataframe(self) -> "pandas.DataFrame":
        """One row a path and position."""
        return self.positions.to_dataframe()

    def __repr__(self) -> str:
        """One line."""
        said = ", ".join(f"{row.path} {_divergence(row)}" for row in self.paths)
        return f"TokenParity({len(self.prompt)} + {len(self.written)} tokens: {said})"

    def __str__(self) -> str:
        """The table of paths."""
        return str(self.paths)

    def _repr_html_(self) -> str:
        return f"{self.paths._repr_html_()}<div>{display.escape(self.text)}</div>"


def _divergence(row: PathRow) -> str:
    return "agrees" if row.diverges_at is None else f"diverges at new token {row.diverges_at}"


def token_parity(
    exported: LlmExport,
    prompt: str | Sequence[int],
    *,
    tokenizer: Any = None,
    paths: Sequence[str] = PATHS,
    reference: str = "eager",
    max_new_tokens: int = 32,
) -> TokenParity:
    """Compare what the paths of a language model make of a prompt, and of its greedy continuation.

    The reference writes on; every other path is then asked for its logits at each position of the
    same text, so that its greedy decoding differs exactly where its most probable token does first.

    Args:
        exported: what `export_llm` returned, with a cache of keys and values.
        prompt: text or tokens.
        tokenizer: a `Tokenizer`, or its file; needed for a text.
        paths: which to compare: "eager" (the checkpoint in float), "quantized" (the module that was
            exported), "exported" (its graph), "native".
        reference: the path that is right by definition.
        max_new_tokens: how far the reference writes on.

    Raises:
        NotFoundError: there is no such path.
        InvalidArgumentError: a text without a tokenizer, or longer than the context.
    """
    words = as_tokenizer(tokenizer)
    tokens = as_tokens("token_parity", prompt, words, has_special=True)
    compared = {path: scorer(exported, path) for path in paths if path != reference}
    first = scorer(exported, reference)
    if len(tokens) + max_new_tokens - 1 > first.context:
        raise InvalidArgumentError(
            f"token_parity: {len(tokens)} tokens and {max_new_tokens} new ones do not fit into the"
            f" context of {first.context}"
        )
    expected, written = _write_on(first, tokens, max_new_tokens)
    whole = [*tokens, *written[:-1]]
    logits = {reference: expected}
    rows: list[PositionRow] = []
    summary: list[PathRow] = []
    for path, score in compared.items():
        logits[path] = score(whole)
        found = _compare(path, whole, expected, logits[path], words)
        rows += found
        summary.append(_summary(path, found, len(tokens)))
    return TokenParity(
        reference=reference,
        prompt=tuple(tokens),
        written=tuple(written),
        text="" if words is None else words.decode([*tokens, *written], keep_special=True),
        paths=Table(PathRow, summary, title=f"paths beside {reference}"),
        positions=Table(PositionRow, rows, title=f"positions beside {reference}"),
        logits=logits,
    )


def _write_on(first: Scorer, tokens: list[int], count: int) -> tuple[torch.Tensor, list[int]]:
    """Logits of every position, and the tokens that follow greedily."""
    logits = [first(tokens)]
    written = [int(logits[0][-1].argmax())]
    while len(written) < count:
        logits.append(first(written[-1:], len(tokens) + len(written) - 1))
        written.append(int(logits[-1][-1].argmax()))
    return torch.cat(logits), written


def _compare(
    path: str,
    tokens: Sequence[int],
    expected: torch.Tensor,
    got: torch.Tensor,
    tokenizer: Tokenizer | None,
) -> list[PositionRow]:
    def name(token: int) -> str:
        return str(token) if tokenizer is None else tokenizer.decode([token], keep_special=True)

    target, own = expected.log_softmax(-1), got.log_softmax(-1)
    kl = (target.exp() * (target - own)).sum(-1).clamp(min=0)  # rounding may go below
    difference = (expected - got).abs().amax(-1)
    best, five = expected.topk(_TOP).indices, got.topk(_TOP).indices
    shared = (best[:, :, None] == five[:, None, :]).sum((1, 2))
    return [
        PositionRow(
            position=position,
            token=name(token),
            path=path,
            expected=name(int(best[position, 0])),
            got=name(int(five[position, 0])),
            top5=int(shared[position]),
            kl=float(kl[position]),
            difference=float(difference[position]),
        )
        for position, token in enumerate(tokens)
    ]


def _summary(path: str, rows: Sequence[PositionRow], prompt: int) -> PathRow:
    new = rows[prompt - 1 :]
    at = next((index for index, row in enumerate(new) if row.got != row.expected), None)
    return PathRow(
        path=path,
        same=sum(row.got == row.expected for row in rows) / len(rows),
        top5=sum(row.top5 for row in rows) / (_TOP * len(rows)),
        kl=sum(row.kl for row in rows) / len(rows),
        difference=max(row.difference for row in rows),
        diverges_at=at,
        instead="" if at is None else f"{new[at].got!r} for {new[at].expected!r}",
    )
