"""The runner: texts, options, statistics, memory, ExecuTorch's face."""

import gc
import json
import weakref
from pathlib import Path

import pytest
from llm.letters import LETTERS, Letters
from llm.tiny_model import CONTEXT, VOCABULARY, TinyModel, eager_greedy, lower, tiny_program

from etlab.errors import AccessError, InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.exir import ExecutorchBackendConfig
from etlab.exir.passes.memory_planning_pass import MemoryPlanningPass
from etlab.llm import GenerationConfig, Runner, Stats, TextLLMRunner
from etlab.llm.stopping import StopTexts
from etlab.runtime import Runtime


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("programs") / "tiny.pte"
    file.write_bytes(tiny_program())
    return file


@pytest.fixture
def runner(path: Path) -> Runner:
    return Runner(path, Letters())


def text_of(tokens: list[int]) -> str:
    return "".join(LETTERS[token] for token in tokens)


def greedy(prompt: str, count: int) -> str:
    """What eager writes on; the program's end, the fifth letter, ends it."""
    return text_of(eager_greedy(Letters().encode(prompt), count)).partition("d")[0]


def test_a_text_is_written_on_as_eager_does(runner: Runner) -> None:
    pieces: list[str] = []
    result = runner.generate("^abc", max_new_tokens=6, on_text=pieces.append)
    assert result.text == str(result) == "".join(pieces) == greedy("^abc", 6)
    assert text_of(list(result.tokens)) == result.text
    assert result.prompt_tokens == (1, 2, 3, 4)
    assert (
        repr(runner)
        == f"Runner(vocabulary of 23, {len(runner.tokens)} of 24 tokens in the context)"
    )


def test_tokens_need_no_tokenizer(path: Path) -> None:
    runner = Runner(path)
    result = runner.generate([1, 2, 3, 4], max_new_tokens=6, ignore_eos=True)
    assert list(result.tokens) == eager_greedy([1, 2, 3, 4], 6)
    assert result.text == ""
    with pytest.raises(NotSupportedError, match=r"has no tokenizer.*Runner\(program"):
        runner.generate("abc")


def test_statistics_count_what_happened(runner: Runner, path: Path) -> None:
    runner.generate("^abc", max_new_tokens=2)
    stats = runner.generate("^abcefg", max_new_tokens=4, ignore_eos=True).stats
    assert (stats.num_prompt_tokens, stats.num_reused_tokens) == (7, 4)
    assert (stats.num_generated_tokens, stats.decode_steps) == (4, 3)
    assert stats.finish_reason == "length"
    assert stats.program_bytes == path.stat().st_size
    assert stats.session_bytes == sum(method.total for method in runner.memory()) > 0
    assert stats.model_load_end_ms >= stats.model_load_start_ms
    order = [
        stats.inference_start_ms,
        stats.token_encode_end_ms,
        stats.prompt_eval_end_ms,
        stats.first_token_ms,
        stats.inference_end_ms,
    ]
    assert order == sorted(order)
    assert min(stats.prefill_rate, stats.decode_rate, stats.time_to_first_token) > 0
    assert json.loads(stats.to_json_string())["num_generated_tokens"] == 4
    assert "4 tokens" in str(stats)


def test_stop_texts_are_found_across_tokens(runner: Runner) -> None:
    whole = runner.generate("^abc", max_new_tokens=8, ignore_eos=True).text
    stop = whole[2:5]
    pieces: list[str] = []
    result = runner.generate(
        "^abc", max_new_tokens=8, ignore_eos=True, stop=[stop], on_text=pieces.append
    )
    assert result.text == "".join(pieces) == whole[: whole.index(stop)]
    assert result.stats.finish_reason == "stop_text"


def test_what_could_begin_a_stop_text_is_held_back() -> None:
    stop = StopTexts(["END", "DONE"])
    assert [stop.push(piece) for piece in ("a E", "N", "x D", "O", "!")] == [
        "a ",
        "",
        "ENx ",
        "",
        "DO!",
    ]
    assert stop.push("DON") + stop.flush() == "DON"
    assert not stop.is_found
    with pytest.raises(InvalidArgumentError, match="list of texts"):
        StopTexts("END")


def test_a_callback_ends_a_text(runner: Runner) -> None:
    result = runner.generate("^abc", max_new_tokens=8, ignore_eos=True, on_text=lambda _: False)
    assert len(result.text) == 1
    assert result.stats.finish_reason == "callback"


def test_what_begins_a_text_is_put_before_it_once(path: Path) -> None:
    runner = Runner(path, Letters(adds_bos=True))
    assert runner.encode("ab") == runner.encode("^ab") == [1, 2, 3]
    assert runner.encode("ab", GenerationConfig(num_bos=2)) == [1, 1, 2, 3]
    assert runner.encode("ab", GenerationConfig(num_eos=1)) == [1, 2, 3, 5]
    assert Runner(path, Letters()).encode("ab") == [2, 3]
    with pytest.raises(InvalidArgumentError, match="num_bos"):
        runner.encode("ab", GenerationConfig(num_bos=-1))


def test_a_session_of_its_own_keeps_its_text(runner: Runner) -> None:
    other = runner.new_session()
    runner.generate("^abc", max_new_tokens=3)
    assert other.tokens == []
    assert other.generate("^hij", max_new_tokens=5).text == greedy("^hij", 5)
    assert runner.generate("^abcef", max_new_tokens=1).stats.num_reused_tokens >= 4
    runner.reset()
    assert runner.tokens == []


def test_a_program_whose_methods_share_a_cache_is_loaded_again(tmp_path: Path) -> None:
    model = TinyModel()
    data = lower(
        {"prefill": (model, 3), "decode": (model, 1)},
        config=ExecutorchBackendConfig(
            memory_planning_pass=MemoryPlanningPass(share_mutable_buffers=True)
        ),
    )
    path = tmp_path / "two.pte"
    path.write_bytes(data)
    runner = Runner(path, Letters())
    other = runner.new_session()
    texts = [runner.generate("^abcef", max_new_tokens=2), other.generate("^", max_new_tokens=2)]
    more = runner.generate([*texts[0].prompt_tokens, *texts[0].tokens], max_new_tokens=2)
    assert texts[0].text + more.text == greedy("^abcef", 4)
    loaded = Runner(Runtime.get().load_program(data), Letters())
    with pytest.raises(NotSupportedError, match="give Runner the path"):
        loaded.new_session()


def test_sessions_end_with_their_last_user(path: Path) -> None:
    runner = Runner(path, Letters())
    program = weakref.ref(runner.program)
    other = runner.new_session()
    del runner
    gc.collect()
    assert other.generate("^abc", max_new_tokens=2).text == greedy("^abc", 2)
    del other
    gc.collect()
    assert program() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"temprature": 1}, "temprature.*GenerationConfig has echo"),
        ({"temperature": -1}, "temperature: expected"),
        ({"top_p": 0}, "top_p: expected"),
        ({"seed": -1}, "seed: expected"),
        ({"seq_len": -5}, "seq_len: expected"),
        ({"max_new_tokens": -5}, "max_new_tokens: expected"),
        ({"stop": "END"}, "stop: expected a list"),
    ],
)
def test_options_of_no_meaning_are_refused_by_name(
    runner: Runner, options: dict[str, object], message: str
) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        runner.generate("^abc", **options)


def test_files_that_are_not_there_are_named(path: Path) -> None:
    with pytest.raises(NotFoundError, match=r"no tokenizer 'none\.json'"):
        Runner(path, "none.json")
    with pytest.raises(AccessError, match=r"cannot open none\.pte"):
        Runner("none.pte", Letters())
    with pytest.raises(InvalidArgumentError, match="got bytes; bytes load with"):
        Runner(path.read_bytes())  # type: ignore[arg-type]


def test_limits_add_up_as_executorch_documents() -> None:
    def most(**options: int) -> int:
        return GenerationConfig(**options).resolve_max_new_tokens(100, 30)  # type: ignore[arg-type]

    assert [most(), most(max_new_tokens=5), most(max_new_tokens=90)] == [70, 5, 70]
    assert [most(seq_len=50), most(seq_len=300), most(seq_len=20)] == [20, 70, 0]
    assert most(seq_len=50, max_new_tokens=7) == 7


class TestTextLLMRunner:
    def test_prompts_stand_behind_what_was_said(self, path: Path) -> None:
        runner = TextLLMRunner(path, Letters(adds_bos=True))
        config = GenerationConfig(temperature=0, max_new_tokens=3, ignore_eos=True)
        first: list[str] = []
        runner.generate("abc", config, first.append)
        assert first[0] == "abc"
        assert "".join(first[1:]) == greedy("^abc", 3)
        text = "^" + "".join(first)
        second: list[str] = []
        stats: list[Stats] = []
        runner.generate("hij", config, second.append, stats.append)
        assert "".join(second) == "hij" + greedy(text + "hij", 3)
        assert stats[0].num_reused_tokens >= len(text) - 1
        runner.reset()
        again: list[str] = []
        runner.generate("abc", config, again.append)
        assert again == first

    def test_a_prefilled_text_is_part_of_it(self, path: Path) -> None:
        runner = TextLLMRunner(path, Letters())
        runner.prefill("^ab", GenerationConfig())
        text: list[str] = []
        config = GenerationConfig(echo=False, temperature=0, max_new_tokens=4, ignore_eos=True)
        runner.generate("c", config, text.append)
        assert "".join(text) == greedy("^abc", 4)

    def test_warming_tells_nobody(self, path: Path) -> None:
        runner = TextLLMRunner(path, Letters())
        seen: list[Stats] = []
        config = GenerationConfig(warming=True, max_new_tokens=1)
        runner.generate("^ab", config, None, seen.append)
        assert seen == []
        assert runner.get_vocab_size() == VOCABULARY
        assert f"of {CONTEXT} tokens" in repr(runner)
        runner.stop()
