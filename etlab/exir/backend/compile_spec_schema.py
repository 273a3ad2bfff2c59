"""Options of a backend."""

from etlab.exir.partition.compile_spec import CompileSpec

__all__ = ["CompileSpec"]
