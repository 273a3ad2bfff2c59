"""Loads and runs many damaged versions of one program in this process: survive.py FILE [SEED].

Every version must end in a typed error or a run. Prints one line, "<errors> errors, <runs> runs";
anything that is neither ends the process with a traceback or a signal.
"""

import collections
import random
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch

from etlab.errors import EtlabError, InternalError
from etlab.runtime import MethodMeta, Runtime

_BYTES = (0x00, 0x01, 0x02, 0x7F, 0x80, 0xFE, 0xFF)
_WORDS = (0, 1, 3, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0xFFFFFFF0)


def mutations(data: bytes, seed: int, count: int) -> Iterator[tuple[str, bytes]]:
    """Damaged versions of `data` with names: cuts, header fields, words, bytes, moved blocks."""
    size = len(data)
    for length in (0, 1, 7, 8, 15, 40, 63, size // 3, size // 2, size - 16, size - 1):
        yield f"cut to {length}", data[:length]
    for offset in (0, 4, 8, 12, 16, 24, 32):
        for word in (*_WORDS, size, size - 1, size + 1, size - 4):
            yield (
                f"header {offset} = {word}",
                _patch(data, offset, struct.pack("<I", word & 0xFFFFFFFF)),
            )
            yield (
                f"header {offset} = {word} wide",
                _patch(data, offset, struct.pack("<Q", word << 32)),
            )
    generator = random.Random(seed)
    structure = min(size, 6000)  # the FlatBuffer stands at the front
    for number in range(count):
        damaged = bytearray(data)
        kind = number % 4
        for _ in range(generator.choice((1, 1, 1, 2, 5))):
            offset = generator.randrange(8, structure)
            if kind == 0:
                damaged[offset] = generator.choice((*_BYTES, generator.randrange(256)))
            elif kind == 1:
                word = generator.choice((*_WORDS, size, generator.randrange(size)))
                damaged[offset & ~3 : (offset & ~3) + 4] = struct.pack("<I", word)
            elif kind == 2:
                damaged[offset] ^= 1 << generator.randrange(8)
            else:  # a valid piece of structure in the wrong place
                source = generator.randrange(8, structure) & ~3
                block = data[source : source + generator.choice((4, 8, 16))]
                damaged[offset & ~3 : (offset & ~3) + len(block)] = block
        yield f"random {seed}/{number}", bytes(damaged[:size])


def _patch(data: bytes, offset: int, value: bytes) -> bytes:
    return data[:offset] + value + data[offset + len(value) :]


def _inputs(meta: MethodMeta) -> list[Any]:
    """Small inputs as the (possibly damaged) program describes them."""
    values: list[Any] = []
    for index in range(meta.num_inputs()):
        kind = meta.input_kind(index)
        if kind != "Tensor":
            values.append({"int": 0, "float": 0.5, "bool": False, "str": ""}.get(kind))
            continue
        info = meta.input_tensor_meta(index)
        if info.nbytes() > 1 << 24:
            return []
        values.append(torch.ones(info.sizes(), dtype=info.torch_dtype))
    return values


def _use(data: bytes) -> None:
    program = Runtime.get().load_program(data)
    for name in sorted(program.method_names):
        method = program.load_method(name)
        assert method is not None
        repr(method.metadata)
        method.metadata.instructions  # noqa: B018
        program.instruction_source(name, 0)
        for _ in range(2):
            method.execute(_inputs(method.metadata))
        method.state  # noqa: B018
        method.reset_state()


def main() -> None:
    """Use every damaged version of the program that the command line names."""
    torch.set_num_threads(1)
    data = Path(sys.argv[1]).read_bytes()
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 400
    results: collections.Counter[str] = collections.Counter()
    for name, damaged in mutations(data, seed, count):
        try:
            _use(damaged)
        except InternalError as error:
            raise AssertionError(f"{name}: {error}") from error
        except (EtlabError, IndexError) as error:
            results["errors"] += 1
            str(error).encode()
        else:
            results["runs"] += 1
    print(f"{results['errors']} errors, {results['runs']} runs")


if __name__ == "__main__":
    main()
