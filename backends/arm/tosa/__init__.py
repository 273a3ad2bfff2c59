"""TOSA as a delegate: ExecuTorch's `TOSABackend`, its payload and its options."""

from etlab.backends.arm.tosa.backend import TOSABackend
from etlab.backends.arm.tosa.compile_spec import TosaCompileSpec
from etlab.backends.arm.tosa.partitioner import TOSAPartitioner

__all__ = ["TOSABackend", "TOSAPartitioner", "TosaCompileSpec"]
