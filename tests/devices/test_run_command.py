"""etlab-run and `python -m etlab run`: the same command line, the same files, the same refusals."""

import csv
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from devices.programs import Command, export
from small_models import Counter, Mlp

import etlab
from etlab.commands import main
from etlab.devices.values import array_to_tensor, load_events, load_outputs, tensor_to_array
from etlab.devtools.etdump import read_etdump


def _mlp(folder: Path) -> tuple[Path, torch.Tensor]:
    torch.manual_seed(1)
    x = torch.randn(2, 5)
    np.save(folder / "x.npy", x.numpy())
    return export(Mlp, 2, 5).save(folder / "mlp.pte"), x


def test_outputs_are_those_of_eager(command: Command, tmp_path: Path) -> None:
    program, x = _mlp(tmp_path)
    done = command([program, "--inputs", tmp_path / "x.npy", "--outputs", tmp_path / "out"])
    assert (done.code, done.errors) == (0, "")
    (output,) = load_outputs(tmp_path / "out")
    torch.testing.assert_close(output, export(Mlp, 2, 5).model(x))
    assert "output 0: Tensor float32[2, 3]" in done.out
    assert "1 runs: best" in done.out


def test_raw_bytes_and_fortran_order_are_inputs_too(command: Command, tmp_path: Path) -> None:
    program, x = _mlp(tmp_path)
    (tmp_path / "x.bin").write_bytes(x.numpy().tobytes())
    np.save(tmp_path / "f.npy", np.asfortranarray(x.numpy()))
    command([program, "--inputs", tmp_path / "x.bin", "--outputs", tmp_path / "raw"])
    command([program, "--inputs", tmp_path / "f.npy", "--outputs", tmp_path / "fortran"])
    expected = export(Mlp, 2, 5).model(x)
    for folder in ("raw", "fortran"):
        torch.testing.assert_close(load_outputs(tmp_path / folder)[0], expected)


def test_calls_follow_each_other_with_their_state(command: Command, tmp_path: Path) -> None:
    program = export(Counter, 3).save(tmp_path / "counter.pte")
    np.save(tmp_path / "x.npy", np.array([1, 2, 3], np.float32))
    call = ["--inputs", tmp_path / "x.npy"]
    assert command([program, *call, *call, "--outputs", tmp_path]).code == 0
    assert load_outputs(tmp_path / "0")[0].tolist() == [4, 5, 6]
    assert load_outputs(tmp_path / "1")[0].tolist() == [5, 7, 9]


def test_an_etdump_holds_every_run(command: Command, tmp_path: Path) -> None:
    program, _ = _mlp(tmp_path)
    done = command([program, "--runs", 3, "--etdump", tmp_path / "run.etdp"])
    assert (done.code, done.errors) == (0, "")
    dump = read_etdump((tmp_path / "run.etdp").read_bytes())
    assert [run.name for run in dump.run_data or ()] == ["Default", *3 * ["Execute"]]


def test_without_inputs_they_are_made_up(command: Command, tmp_path: Path) -> None:
    program = export(Counter, 3).save(tmp_path / "counter.pte")
    assert command([program, "--outputs", tmp_path / "zero"]).code == 0
    assert command([program, "--random", 7, "--outputs", tmp_path / "random"]).code == 0
    assert load_outputs(tmp_path / "zero")[0].tolist() == [3, 3, 3]
    assert len(set(load_outputs(tmp_path / "random")[0].tolist())) == 3


def test_profile_times_every_instruction_of_every_run(command: Command, tmp_path: Path) -> None:
    program, _ = _mlp(tmp_path)
    words = [program, "--profile", "--runs", 3, "--threads", 1, "--outputs", tmp_path]
    done = command(words)
    assert done.code == 0
    assert "3 runs: best" in done.out
    rows = list(csv.DictReader((tmp_path / "events.csv").open()))
    events = load_events(tmp_path / "events.csv")
    names = [step.name for step in etlab.load(program).program.metadata("forward").instructions]
    assert [row["run"] for row in rows] == [str(run) for run in range(3) for _ in names]
    assert [event.name for event in events] == names * 3
    assert all(event.duration > 0 for event in events)
    for name in names:
        assert name in done.out


class Values(torch.nn.Module):
    def forward(self, x, scale: float, flag: bool, count: int, nothing):
        return x * scale, None, count


def test_numbers_and_none_stand_on_the_command_line(command: Command, tmp_path: Path) -> None:
    run = etlab.export(Values(), (torch.ones(3), 0.5, True, 4, None))
    run.save(tmp_path / "values.pte")
    np.save(tmp_path / "x.npy", np.arange(3, dtype=np.float32))
    words = [tmp_path / "values.pte", "--outputs", tmp_path, "--inputs", tmp_path / "x.npy"]
    done = command([*words, "0.5", "true", "4", "none"])
    assert done.code == 0, done.errors
    assert load_outputs(tmp_path)[0].tolist() == [0, 0.5, 1]
    assert [one["kind"] for one in json.loads((tmp_path / "outputs.json").read_text())] == [
        "tensor",
        "none",
        "int",
    ]
    refused = command([*words, "0.5", "true", "five", "none"])
    assert refused.code == 1
    assert "input 3" in refused.errors


class Same(torch.nn.Module):
    def forward(self, x):
        return torch.cat([x, x])


DTYPES = [
    torch.bool,
    torch.uint8,
    torch.int8,
    torch.int16,
    torch.int32,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
    torch.complex128,
]


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_every_dtype_goes_through_files(command: Command, tmp_path: Path, dtype) -> None:
    x = torch.tensor([0, 1, 3]).to(dtype)
    etlab.export(Same(), (x,)).save(tmp_path / "same.pte")
    np.save(tmp_path / "x.npy", tensor_to_array(x))
    words = [tmp_path / "same.pte", "--inputs", tmp_path / "x.npy", "--outputs", tmp_path]
    done = command(words)
    assert done.code == 0, done.errors
    (output,) = load_outputs(tmp_path)
    assert output.dtype == dtype
    assert torch.equal(output, torch.cat([x, x]))


def test_what_is_wrong_is_said_in_words(command: Command, tmp_path: Path) -> None:
    program, _ = _mlp(tmp_path)
    np.save(tmp_path / "small.npy", np.zeros((2, 4), np.float32))
    (tmp_path / "short.bin").write_bytes(bytes(8))
    for words, part in [
        ([tmp_path / "none.pte"], "none.pte"),
        ([program, "--method", "backward"], "backward"),
        ([program, "--inputs"], "takes 1 inputs, --inputs has 0"),
        ([program, "--inputs", tmp_path / "none.npy"], "none.npy"),
        ([program, "--inputs", tmp_path / "small.npy"], "expected size 5 in dimension 1"),
        ([program, "--inputs", tmp_path / "short.bin"], "40"),
        ([program, "--outputs", "/dev/null/there"], "/dev/null/there"),
    ]:
        done = command(words)
        assert done.code == 1, words
        assert part in done.errors
        assert "Traceback" not in done.errors


def test_a_wrong_command_line_has_an_exit_code_of_its_own(command: Command) -> None:
    for words in [[], ["a.pte", "--runs", "0"], ["a.pte", "--runs"], ["a.pte", "--colour"]]:
        assert command(words).code == 2


@pytest.mark.parametrize(
    "words",
    [
        ["run", "a.pte", "--runs", "x"],
        ["run", "a.pte", "--threads", "0"],
        ["build", "--jobs", "0"],
        ["build", "--jobs", "-1"],
    ],
)
def test_counts_that_are_none_are_refused_in_words(words, capsys):
    with pytest.raises(SystemExit):
        main(words)
    expected = f"expected a whole number from 1, got '{words[-1]}'"
    assert expected in capsys.readouterr().err


def _header(text: str, version: int = 1, length: int | None = None) -> bytes:
    size = len(text) if length is None else length
    return b"\x93NUMPY" + bytes([version, 0]) + size.to_bytes(2, "little") + text.encode()


PLAIN = "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 5), }"
HOSTILE = {
    "empty": b"",
    "no magic": b"NUMPY" * 20,
    "no header": b"\x93NUMPY\x01\x00",
    "header beyond the file": _header(PLAIN, length=60_000),
    "version 9": _header(PLAIN, version=9) + bytes(40),
    "no data": _header(PLAIN),
    "too few bytes": _header(PLAIN) + bytes(39),
    "objects": _header(PLAIN.replace("<f4", "|O")) + bytes(80),
    "big-endian": _header(PLAIN.replace("<f4", ">f4")) + bytes(40),
    "text": _header(PLAIN.replace("<f4", "<U1")) + bytes(40),
    "negative size": _header(PLAIN.replace("(2, 5)", "(-2, 5)")) + bytes(40),
    "overflowing sizes": _header(PLAIN.replace("2, 5", "4611686018427387904, 4")) + bytes(40),
    "size of 30 digits": _header(PLAIN.replace("2, 5", "9" * 30)) + bytes(40),
    "17 dimensions": _header(PLAIN.replace("2, 5", "1," * 17)) + bytes(4),
    "no shape": _header("{'descr': '<f4', 'fortran_order': False}") + bytes(40),
    "code": _header("__import__('os').abort()") + bytes(40),
    "text without end": _header("{'descr': '<f4") + bytes(40),
    "only braces": _header("{" * 200) + bytes(40),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_npy_files_are_refused(command: Command, tmp_path: Path, name: str) -> None:
    program, _ = _mlp(tmp_path)
    (tmp_path / "bad.npy").write_bytes(HOSTILE[name])
    done = command([program, "--inputs", tmp_path / "bad.npy"])
    assert done.code == 1, done
    assert done.errors.count("\n") == 1, "one sentence, and no trace of a crash"


def test_the_hostile_headers_differ_from_a_good_one_in_one_thing(
    command: Command, tmp_path: Path
) -> None:
    program, _ = _mlp(tmp_path)
    (tmp_path / "good.npy").write_bytes(_header(PLAIN) + bytes(40))
    assert command([program, "--inputs", tmp_path / "good.npy"]).code == 0


def test_bfloat16_survives_as_untyped_bytes() -> None:
    values = torch.tensor([1.5, float("nan"), -0.0], dtype=torch.bfloat16)
    back = array_to_tensor(tensor_to_array(values))
    assert torch.equal(back.view(torch.int16), values.view(torch.int16))
