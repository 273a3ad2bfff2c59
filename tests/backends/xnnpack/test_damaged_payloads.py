"""Damaged payloads end in typed errors, never in the process's end."""

import subprocess
import sys
from pathlib import Path

import pytest
import torch
from interop.payload_programs import D, PayloadProgram, program_of

from etlab.errors import InvalidProgramError
from etlab.runtime import Runtime


def test_one_process_survives_every_damaged_payload():
    script = Path(__file__).with_name("survive_payloads.py")
    result = subprocess.run(
        [sys.executable, str(script), "1", "400"], capture_output=True, text=True, timeout=300
    )
    assert result.returncode == 0, f"exit {result.returncode}\n{result.stderr[-3000:]}"
    assert int(result.stdout.split()[0]) > 400, result.stdout


def relu(**fields):
    program = PayloadProgram()
    x = torch.ones(2, 3)
    fields = {"input_id": program.input(x), "output_id": program.output(x)} | fields
    program.node("Abs", **fields)
    return program


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (relu(input_id=7), "no value has the id 7"),
        (relu(input_id=1), "reads value 1 before it is computed"),
        (relu(output_id=0), "writes value 0, which is an input"),
    ],
)
def test_wrong_ids_are_named(program, message):
    with pytest.raises(InvalidProgramError, match=message):
        program.run()


def test_constant_that_is_too_short_is_named():
    program = PayloadProgram()
    program.constant(torch.ones(3))
    program.values[0] = program.values[0].__class__(
        program.values[0].xvalue_union.__class__(D.FP32, 1, (4,), 1, 0xFFFFFFFF, 0, 0)
    )
    x = torch.ones(4)
    program.node("Add", input1_id=0, input2_id=program.input(x), output_id=program.output(x))
    with pytest.raises(InvalidProgramError, match=r"shape \[4\] needs 16 bytes, .* has 12"):
        program.run()


def test_payload_of_another_backend_is_refused():
    x = torch.ones(2)
    file = program_of(b"something else entirely", [x], [x])
    with pytest.raises(InvalidProgramError, match="XN01 or XN00"):
        Runtime.get().load_program(file).load_method("forward")
