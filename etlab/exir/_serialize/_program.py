"""`deserialize_pte_binary`: the bytes of a program as dataclasses."""

from etlab.exir.emit.file import ProgramData, read_program

__all__ = ["ProgramData", "deserialize_pte_binary"]


def deserialize_pte_binary(program_data: bytes | bytearray | memoryview) -> ProgramData:
    """Read a program file: `.program` has its methods, `.segments` the bytes behind them.

    Raises:
        InvalidProgramError: the file is damaged, or no program.
    """
    return read_program(program_data)
