"""`etlab.load`: files of ExecuTorch's formats, by what is in them."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from etlab.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program,
    is_bundled_program,
)
from etlab.devtools.etdump import read_file
from etlab.errors import InvalidArgumentError, InvalidProgramError
from etlab.exir.emit.flat_tensor import FILE_IDENTIFIER as TENSOR_FILE
from etlab.exir.emit.flat_tensor import read_tensor_file
from etlab.exir.partition.host_only import host_file
from etlab.inspect.program_file import ProgramFile
from etlab.inspect.tensor_file import TensorDataFile


def load(path: str | Path, *, data: str | Path | Sequence[str | Path] | None = None) -> Any:
    """Open a file, whoever wrote it, and verify it in full.

    Args:
        path: of a .pte program, a .bpte program with test cases (`etlab.devtools` runs these), or
            a .ptd file of tensors.
        data: the .ptd file, or files, with what a program keeps outside. A program that misses
            them can be looked at, not run. What is for computers only is found beside the program
            (`<name>.host.ptd`).

    Returns:
        A `ProgramFile`, whose `notes` say where it is known to differ from the model in eager; of a
        .ptd file a `TensorDataFile`.

    Raises:
        AccessError: a file cannot be read.
        InvalidArgumentError: `path` is no path, or two of `data` have the same name.
        InvalidProgramError: it is damaged, foreign or too new.
    """
    if not isinstance(path, str | Path):
        is_data = isinstance(path, bytes | bytearray | memoryview)
        raise InvalidArgumentError(
            f"load: expected the path of a .pte file, got {type(path).__name__}"
            + ("; for the bytes of a program write etlab.ProgramFile(data)" if is_data else "")
        )
    paths = [data] if isinstance(data, str | Path) else list(data or ())
    outside = {Path(one).name: read_file(one) for one in paths}
    if len(outside) < len(paths):
        raise InvalidArgumentError(
            "load: two of the data files have the same name; rename one: a folder that the program"
            " is saved to can hold only one of them"
        )
    content, name = read_file(path), Path(path).name
    if content[4:8] == TENSOR_FILE:
        tensors = TensorDataFile(content, name)
        _ = tensors.content
        return tensors
    if is_bundled_program(content):
        content = deserialize_from_flatbuffer_to_bundled_program(content).program_bytes
    return load_program(content, name, outside, _host_data(host_file(Path(path))))


def _host_data(path: Path) -> bytes:
    """What lies beside a program for computers only; empty where there is nothing."""
    if not path.is_file():
        return b""
    data: bytes = read_file(path)
    try:
        read_tensor_file(data)
    except InvalidProgramError as error:
        raise InvalidProgramError(
            f"'{path.name}' beside the program: {error}; delete it to go on without estimates and"
            " stand-ins"
        ) from None
    return data


def load_program(
    content: bytes, name: str, outside: dict[str, bytes], host_data: bytes = b""
) -> ProgramFile:
    """A program that was verified.

    Raises:
        InvalidProgramError: it is damaged, foreign or too new.
    """
    file = ProgramFile(content, name, outside, host_data)
    _ = file.program
    return file
