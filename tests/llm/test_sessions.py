"""Sessions of a language model: what they write, keep, refuse and stop."""

import threading
from pathlib import Path
from typing import Any

import pytest
import torch
from llm.small import checkpoint
from llm.tiny_model import (
    CONSTANTS,
    CONTEXT,
    EOS,
    LONGEST_CALL,
    VOCABULARY,
    TinyModel,
    eager_greedy,
    lower,
    tiny_program,
)

from etlab.errors import InvalidArgumentError, InvalidProgramError, NotSupportedError
from etlab.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from etlab.exir.passes.memory_planning_pass import MemoryPlanningPass
from etlab.llm import export_llm
from etlab.runtime import _native
from etlab.runtime.tensors import allocate_tensor

PROMPT = [1, 2, 3, 4]
GREEDY = _native.SamplerOptions()


def session_of(program: bytes) -> _native.LlmSession:
    return _native.LlmSession.load(_native.Program.load_bytes(program))


def write(session: _native.LlmSession, prompt: list[int], count: int) -> list[int]:
    tokens: list[int] = []
    session.generate(prompt, GREEDY, count, [], tokens.append)
    return tokens


@pytest.fixture
def session() -> _native.LlmSession:
    return session_of(tiny_program())


def test_it_says_what_the_program_says(session: _native.LlmSession) -> None:
    assert session.model == {
        "max_context_length": CONTEXT,
        "max_prefill_length": LONGEST_CALL,
        "is_prefill_fixed": False,
        "uses_cache": True,
        "can_step_back": True,
        "shares_cache": False,
        "vocabulary_size": VOCABULARY,
        "bos_ids": [1],
        "eos_ids": [EOS],
    }


@pytest.mark.parametrize("length", [1, 4, LONGEST_CALL, LONGEST_CALL + 1, 2 * LONGEST_CALL + 3])
def test_greedy_text_is_that_of_eager(session: _native.LlmSession, length: int) -> None:
    prompt = [1 + index * 5 % (VOCABULARY - 1) for index in range(length)]
    assert write(session, prompt, 6) == eager_greedy(prompt, 6)


@pytest.mark.parametrize(
    "model",
    [TinyModel(gives_all_logits=True), TinyModel(dtype=torch.bfloat16)],
    ids=["all logits", "bfloat16"],
)
def test_logits_come_in_every_form_of_the_contract(model: TinyModel) -> None:
    session = session_of(lower({"forward": (model, None)}))
    logits = session.prefill(PROMPT, allocate_tensor)
    expected = TinyModel()(torch.tensor([PROMPT]), torch.tensor([0]))[0]
    torch.testing.assert_close(logits, expected.to(model.dtype).float(), rtol=1e-2, atol=1e-2)


def test_a_program_for_one_token_at_once_takes_prompts_token_by_token() -> None:
    session = session_of(lower({"forward": (TinyModel(), 1)}))
    assert write(session, PROMPT, 6) == eager_greedy(PROMPT, 6)


def test_prefill_and_decode_can_be_two_methods_of_fixed_lengths() -> None:
    model = TinyModel()
    planning = MemoryPlanningPass(share_mutable_buffers=True)
    session = session_of(
        lower(
            {"prefill": (model, 3), "decode": (model, 1)},
            config=ExecutorchBackendConfig(memory_planning_pass=planning),
        )
    )
    assert session.model["shares_cache"]
    prompt = [1, 2, 3, 4, 6, 7, 8]
    assert write(session, prompt, 5) == eager_greedy(prompt, 5)


def test_methods_with_a_cache_each_are_refused() -> None:
    model = TinyModel()
    program = lower({"prefill": (model, 3), "decode": (model, 1)})
    with pytest.raises(InvalidProgramError, match="share_mutable_buffers=True"):
        session_of(program)


def test_what_a_prompt_shares_with_the_cache_is_not_computed_again(
    session: _native.LlmSession,
) -> None:
    first = write(session, PROMPT, 5)
    assert session.tokens == PROMPT + first[:-1]  # the last one was drawn, never fed
    longer = [*PROMPT, *first, 9, 10]
    stats = session.generate(longer, GREEDY, 3)
    assert stats["reused_tokens"] == len(PROMPT) + 4
    other = [*PROMPT[:2], 11, 12]
    assert write(session, other, 4) == eager_greedy(other, 4)
    assert session.generate(other, GREEDY, 0)["reused_tokens"] == len(other) - 1
    session.rewind(1)
    assert session.tokens == PROMPT[:1]


def test_sessions_of_one_program_do_not_see_each_other() -> None:
    program = _native.Program.load_bytes(tiny_program())
    one, other = (_native.LlmSession.load(program) for _ in range(2))
    del program
    others = [1, 9, 8]
    expected = eager_greedy(PROMPT, 4), eager_greedy(others, 4)
    text, other_text = list(PROMPT), list(others)
    for _ in range(4):
        text += write(one, text, 1)
        other_text += write(other, other_text, 1)
    assert (text[len(PROMPT) :], other_text[len(others) :]) == expected


def test_a_seed_repeats_a_text_and_another_one_does_not(session: _native.LlmSession) -> None:
    def text(seed: int) -> list[int]:
        tokens: list[int] = []
        sampler = _native.SamplerOptions(temperature=3.0, seed=seed)
        session.generate(PROMPT, sampler, 12, [], tokens.append)
        return tokens

    assert text(1) == text(1) != text(2)


def test_stop_tokens_end_a_text_and_are_not_part_of_it(session: _native.LlmSession) -> None:
    whole = eager_greedy(PROMPT, 6)
    stop = whole[2]
    tokens: list[int] = []
    stats = session.generate(PROMPT, GREEDY, 6, [stop], tokens.append)
    assert tokens == whole[: whole.index(stop)]
    assert stats["finish_reason"] == "stop_token"
    assert stats["generated_tokens"] == len(tokens)


def test_the_context_limits_a_text(session: _native.LlmSession) -> None:
    stats = session.generate(PROMPT, GREEDY)
    assert stats["generated_tokens"] == CONTEXT - len(PROMPT)
    assert stats["finish_reason"] == "context"
    assert session.generate(PROMPT, GREEDY, 3)["finish_reason"] == "length"


@pytest.mark.parametrize(
    ("prompt", "message"),
    [
        ([], "no tokens"),
        ([1] * (CONTEXT + 1), f"has {CONTEXT + 1} tokens, the context of the program holds"),
        ([1, VOCABULARY], f"token {VOCABULARY} of the prompt is not in the vocabulary"),
        ([-1], "token -1 of the prompt"),
    ],
)
def test_prompts_that_cannot_be_are_refused(
    session: _native.LlmSession, prompt: list[int], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        session.generate(prompt, GREEDY)


def test_a_callback_can_end_stop_and_fail(session: _native.LlmSession) -> None:
    assert session.generate(PROMPT, GREEDY, 9, [], lambda _: False)["finish_reason"] == "callback"
    stats = session.generate(PROMPT, GREEDY, 9, [], lambda _: session.stop())
    assert (stats["finish_reason"], stats["generated_tokens"]) == ("stopped", 1)

    def fail(_: int) -> None:
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        session.generate(PROMPT, GREEDY, 9, [], fail)
    assert write(session, PROMPT, 5) == eager_greedy(PROMPT, 5)


def test_a_second_call_while_one_works_is_refused(session: _native.LlmSession) -> None:
    messages = []

    def call_again(_: int) -> bool:
        with pytest.raises(InvalidArgumentError, match="works on another call") as caught:
            session.generate(PROMPT, GREEDY, 1)
        messages.append(caught)
        return False

    session.generate(PROMPT, GREEDY, 9, [], call_again)
    assert len(messages) == 1


def test_another_thread_stops_a_generation(session: _native.LlmSession) -> None:
    begun, stopped = threading.Event(), threading.Event()
    result: dict[str, Any] = {}

    def on_token(_: int) -> None:
        begun.set()
        stopped.wait(20)

    def generate() -> None:
        result.update(session.generate(PROMPT, GREEDY, -1, [], on_token))

    thread = threading.Thread(target=generate)
    thread.start()
    assert begun.wait(20)
    session.stop()
    stopped.set()
    thread.join(20)
    assert (result["finish_reason"], result["generated_tokens"]) == ("stopped", 1)
    session.stop()  # nothing to stop: the next text is whole
    assert write(session, PROMPT, 5) == eager_greedy(PROMPT, 5)


class _WithoutPosition(torch.nn.Module):
    """The whole context at every call."""

    def __init__(self) -> None:
        super().__init__()
        self.model = TinyModel()

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        logits: torch.Tensor = self.model(tokens, torch.zeros(1, dtype=torch.int64))
        return logits


def test_a_program_without_a_cache_gets_the_whole_text() -> None:
    exported = torch.export.export(
        _WithoutPosition().eval(),
        (torch.ones(1, 3, dtype=torch.int64),),
        dynamic_shapes=({1: torch.export.Dim("n", max=CONTEXT)},),
    )
    session = session_of(to_edge_transform_and_lower(exported).to_executorch().buffer)
    assert not session.model["uses_cache"]
    assert session.model["max_context_length"] == CONTEXT
    assert write(session, PROMPT, 5) == eager_greedy(PROMPT, 5)


@pytest.mark.parametrize(
    ("constants", "message"),
    [
        ({}, "how many tokens its context holds"),
        ({"get_max_context_len": 0}, "how many tokens its context holds"),
        ({"get_max_context_len": 2.5}, "'get_max_context_len' gives float 2.5, expected whole"),
        ({"get_max_context_len": [1, 2]}, "gives 2 numbers, expected one"),
    ],
)
def test_programs_without_the_contract_are_refused(
    constants: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidProgramError, match=message):
        session_of(lower({"forward": (TinyModel(), None)}, constants))


class _Wrong(torch.nn.Module):
    def __init__(self, *, returns: torch.dtype) -> None:
        super().__init__()
        self.returns = returns

    def forward(self, tokens: torch.Tensor, input_pos: torch.Tensor) -> torch.Tensor:
        return (tokens + input_pos)[:, -1:].to(self.returns)


def test_wrong_signatures_are_named() -> None:
    with pytest.raises(InvalidProgramError, match=r"returns int64\[1, 1\], expected logits"):
        session_of(lower({"forward": (_Wrong(returns=torch.int64), None)}))
    with pytest.raises(InvalidProgramError, match="takes 2 tokens at once, never one"):
        session_of(lower({"forward": (TinyModel(), 2)}))


def test_constants_may_stand_under_the_older_name() -> None:
    constants = {"get_max_seq_len": CONTEXT, "get_eos_ids": torch.tensor([EOS])}
    session = session_of(lower({"forward": (TinyModel(), None)}, constants))
    assert session.model["max_context_length"] == CONTEXT
    assert session.model["eos_ids"] == [EOS]
    assert CONSTANTS["get_max_seq_len"] != CONTEXT


def test_candidates_are_those_of_transformers() -> None:
    processors = pytest.importorskip("transformers.generation.logits_process")
    logits = torch.randn(200, generator=torch.Generator().manual_seed(0)) * 3
    options = {"temperature": 0.7, "top_k": 50, "top_p": 0.9, "min_p": 0.02}
    scores = logits[None]
    for warper in (
        processors.TemperatureLogitsWarper(options["temperature"]),
        processors.TopKLogitsWarper(options["top_k"]),
        processors.TopPLogitsWarper(options["top_p"]),
        processors.MinPLogitsWarper(options["min_p"]),
    ):
        scores = warper(None, scores)
    expected = torch.softmax(scores[0], -1)
    sampler = _native.Sampler(_native.SamplerOptions(**options))  # type: ignore[arg-type]
    described = (logits.data_ptr(), 6, [200], [1])
    found = torch.zeros(200)
    for token, probability in sampler.candidates(described):
        found[token] = probability
    torch.testing.assert_close(found, expected, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("is_fused", [True, False])
def test_a_ring_of_places_is_not_stepped_back_in(tmp_path: Path, is_fused: bool) -> None:
    _, weights = checkpoint(tmp_path)
    exported = export_llm(
        {
            "base": {
                "checkpoint": str(weights),
                "params": str(tmp_path / "params.json"),
            },
            "model": {
                "use_kv_cache": True,
                "use_sdpa_with_kv_cache": is_fused,
                "use_attention_sink": "2,5",
            },
            "export": {
                "max_seq_length": 3,
                "max_context_length": 48,
                "output_dir": str(tmp_path),
            },
        }
    )
    session = session_of(exported.run.program.buffer)
    assert not session.model["can_step_back"]
    start, other_start = ([7 * index % 96 for index in range(count)] for count in (9, 11))
    first = write(session, start, 20)
    fresh = session_of(exported.run.program.buffer)
    other = [*start, *other_start]
    assert write(session, other, 6) == write(fresh, other, 6)
    longer = [*start, *first, 1]
    session.rewind(0)
    write(session, start, 20)
    stats = session.generate(longer, GREEDY, 1)
    assert stats["reused_tokens"] == len(start) + 19  # a text that goes on is
    with pytest.raises(NotSupportedError, match=r"is a ring.*rewind\(0\)"):
        session.rewind(3)
