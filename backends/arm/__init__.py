"""Arm's NPUs: TOSA, the operators that they compute with integers, and its reference model.

`lowering.py` turns a quantized edge graph into a TOSA graph; it needs no package of Arm's. The
package tosa-tools runs such graphs, to the bit as the specification says.
"""

from etlab.backends.arm.tosa.backend import TOSABackend
from etlab.backends.arm.tosa.compile_spec import TosaCompileSpec
from etlab.backends.arm.tosa.partitioner import TOSAPartitioner

__all__ = ["TOSABackend", "TOSAPartitioner", "TosaCompileSpec"]
