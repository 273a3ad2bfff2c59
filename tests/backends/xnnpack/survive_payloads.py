"""Loads and runs many damaged payloads in this process: survive_payloads.py [SEED] [COUNT].

Every version must end in a typed error or a run. Prints "<errors> errors, <runs> runs"; anything
that is neither ends the process with a traceback or a signal.
"""

import random
import resource
import struct
import sys
from pathlib import Path

import torch

sys.path.insert(0, str(Path(__file__).parents[2]))
from interop.integer_payloads import DYNAMIC_KINDS, KINDS, Source
from interop.payload_programs import PayloadProgram, program_of

from etlab.errors import EtlabError, InternalError
from etlab.runtime import Runtime

_WORDS = (0, 1, 2, 3, 6, 7, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0, 4096, 65536)
_LARGE = 2  # graphs of several nodes; the others have one or two each
_SPARE_MEMORY = 1 << 30  # so that absurd sizes fail instead of taking the machine's memory


def pictures() -> PayloadProgram:
    """Convolutions, pooling and what moves pixels."""
    program = PayloadProgram()
    x = torch.randn(1, 6, 6, 3)
    source = program.input(x)
    first, second, third, padded = (
        program.between(shape) for shape in ((1, 6, 6, 4), (1, 6, 6, 4), (1, 3, 3, 4), (1, 5, 3, 4))
    )
    window = {
        "padding_top": 1, "padding_bottom": 1, "padding_left": 1, "padding_right": 1,
        "kernel_height": 3, "kernel_width": 3, "subsampling_height": 1, "subsampling_width": 1,
        "dilation_height": 1, "dilation_width": 1,
    }  # fmt: skip
    program.node(
        "Conv2d", (0.0, 6.0), input1_id=source, filter_id=program.constant(torch.randn(4, 3, 3, 3)),
        bias_id=program.constant(torch.randn(4)), output_id=first, groups=1,
        group_input_channels=3, group_output_channels=4, **window,
    )  # fmt: skip
    program.node(
        "DepthwiseConv2d", input1_id=first, filter_id=program.constant(torch.randn(1, 3, 3, 4)),
        bias_id=0xFFFFFFFF, output_id=second, groups=4, group_input_channels=1,
        group_output_channels=1, **window,
    )  # fmt: skip
    program.node(
        "MaxPooling2d", pooling_height=2, pooling_width=2, stride_height=2, stride_width=2,
        dilation_height=1, dilation_width=1, input_id=second, output_id=third,
    )  # fmt: skip
    program.node(
        "StaticConstantPad", pre_paddings=(0, 1, 0, 0), post_paddings=(0, 1, 0, 0),
        input_id=third, output_id=padded,
    )  # fmt: skip
    out = program.output(torch.randn(1, 4, 5, 3))
    program.node("StaticTranspose", num_dims=4, perm=(0, 3, 1, 2), input_id=padded, output_id=out)
    return program


def matrices() -> PayloadProgram:
    """Linear layers, products, slices and elementwise nodes."""
    program = PayloadProgram()
    x = torch.randn(4, 8)
    source = program.input(x)
    hidden, product, sliced, both = (
        program.between(shape) for shape in ((4, 8), (4, 4), (4, 2), (4, 6))
    )
    program.node(
        "FullyConnected", (0.0, 1.0), input1_id=source,
        filter_id=program.constant(torch.randn(8, 8)), bias_id=program.constant(torch.randn(8)),
        output_id=hidden,
    )  # fmt: skip
    program.node(
        "BatchMatrixMultiply", input1_id=source, input2_id=hidden, output_id=product, flags=1
    )
    program.node(
        "StaticSlice", num_dims=2, offsets=(0, 1), sizes=(4, 2), input_id=product, output_id=sliced
    )
    program.node("Concatenate2", axis=1, input1_id=product, input2_id=sliced, output_id=both)
    program.node("Softmax", input_id=both, output_id=program.output(torch.randn(4, 6)))
    return program


def damaged(data: bytes, generator: random.Random) -> bytes:
    """The payload with a few bytes, words or blocks changed, or cut short."""
    result = bytearray(data)
    kind = generator.randrange(5)
    if kind == 4:
        return bytes(result[: generator.randrange(len(result))])
    for _ in range(generator.choice((1, 1, 2, 4))):
        place = generator.randrange(4, len(data) - 16) & ~3
        if kind == 0:
            result[place + generator.randrange(4)] = generator.randrange(256)
        elif kind == 1:
            result[place : place + 4] = struct.pack("<I", generator.choice(_WORDS))
        elif kind == 2:
            result[place + generator.randrange(4)] ^= 1 << generator.randrange(8)
        else:
            source = generator.randrange(4, len(data) - 16) & ~3
            result[place : place + 8] = data[source : source + 8]
    return bytes(result)


def run(program: PayloadProgram, delegate: bytes) -> None:
    """Load and run a program with these delegate bytes."""
    file = program_of(delegate, program.inputs, program.outputs)
    Runtime.get().load_program(file).load_method("forward").execute(program.inputs)


def main(seed: int = 0, count: int = 1500) -> None:
    """Damage, load, run; count the ends."""
    errors = runs = 0
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + _SPARE_MEMORY, resource.RLIM_INFINITY))
    generator = random.Random(seed)
    integers = [make(Source(seed)) for make in (*KINDS.values(), *DYNAMIC_KINDS.values())]
    for number, program in enumerate((pictures(), matrices(), *integers)):
        data = program.payload_bytes()
        run(program, data)
        header = struct.pack("<4s4sHIIIQ", bytes(4), b"XH00", 30, 32, len(data), 32 + len(data), 0)
        for original in (data, header.ljust(32, b"\0") + data):
            for _ in range(count if number < _LARGE else count // len(integers)):
                try:
                    run(program, damaged(original, generator))
                    runs += 1
                except InternalError:
                    raise
                except EtlabError:
                    errors += 1
    print(f"{errors} errors, {runs} runs")


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
