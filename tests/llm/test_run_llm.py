"""`etlab-run-llm`: the runner as a program."""

import json
import subprocess
from pathlib import Path

import pytest
from llm.letters import Letters
from llm.tiny_model import VOCABULARY, eager_greedy, tiny_program

from etlab.devices.base import DeviceAbsentError
from etlab.devices.builder import host_runner
from etlab.llm import Runner, write_vocabulary

PROMPT = [1, 2, 3, 4]


@pytest.fixture(scope="module")
def tool() -> Path:
    try:
        return host_runner("etlab-run-llm")
    except DeviceAbsentError as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("program") / "tiny.pte"
    path.write_bytes(tiny_program())
    return path


def run(tool: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [str(tool), *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)


def test_tokens_are_those_of_eager(tool: Path, program: Path) -> None:
    done = run(tool, program, "--tokens", "1,2", 3, "4", "--max-new-tokens", 6, "--ignore-eos")
    assert done.returncode == 0, done.stderr
    assert [int(line) for line in done.stdout.split()] == eager_greedy(PROMPT, 6)


def test_a_vocabulary_makes_text_of_them(tool: Path, program: Path, tmp_path: Path) -> None:
    words = write_vocabulary(Letters(), tmp_path / "letters.txt")
    tokens = tmp_path / "prompt.txt"
    tokens.write_text("1 2\n3,4\n")
    done = run(
        tool, program, "--tokens-file", tokens, "--vocabulary", words, "--max-new-tokens", 5,
        "--no-map", "--stats", "--threads", 1,
    )  # fmt: skip
    expected = Runner(program, Letters()).generate(PROMPT, max_new_tokens=5)
    assert done.stdout == expected.text + "\n"
    stats = json.loads(done.stderr)
    assert stats["prompt_tokens"] == 4
    assert stats["finish_reason"] == expected.stats.finish_reason
    assert stats["peak_resident_bytes"] >= 0


def test_drawing_is_that_of_the_runner(tool: Path, program: Path) -> None:
    done = run(
        tool, program, "--tokens", 1, 2, 3, 4, "--ignore-eos", "--max-new-tokens", 9,
        "--temperature", 2.5, "--top-k", 9, "--top-p", 0.95, "--min-p", 0.01, "--seed", 7,
    )  # fmt: skip
    expected = Runner(program).generate(
        PROMPT, ignore_eos=True, max_new_tokens=9,
        temperature=2.5, top_k=9, top_p=0.95, min_p=0.01, seed=7,
    )  # fmt: skip
    assert [int(line) for line in done.stdout.split()] == list(expected.tokens)


def test_a_stop_token_ends_the_answer(tool: Path, program: Path) -> None:
    whole = eager_greedy(PROMPT, 6)
    done = run(tool, program, "--tokens", *PROMPT, "--stop-tokens", whole[2])
    assert [int(line) for line in done.stdout.split()] == whole[: whole.index(whole[2])]


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        ([], 2, "no program given"),
        (["{program}"], 2, "no prompt given"),
        (["{program}", "--tokens", "x"], 2, "--tokens: expected a number from 0"),
        (["{program}", "--tokens", "1", "--top-p", "2"], 2, "top_p: expected"),
        (["{program}", "--tokens", "1", "--top-p", "1x"], 2, "--top-p: expected a number"),
        (["{program}", "--speed"], 2, "--speed: unknown option"),
        (["{program}", "--tokens", str(VOCABULARY)], 1, "not in the vocabulary of the program"),
        (["{program}", "--tokens", "1", "--vocabulary", "{program}"], 1, "does not begin with"),
        (["none.pte", "--tokens", "1"], 1, "access failed: cannot open none.pte"),
    ],
)
def test_mistakes_are_sentences(
    tool: Path, program: Path, words: list[str], code: int, message: str
) -> None:
    done = run(tool, *(word.format(program=program) for word in words))
    assert done.returncode == code
    assert message in done.stderr


def test_help_says_what_there_is(tool: Path) -> None:
    assert "--vocabulary FILE" in run(tool, "--help").stdout
