"""Backends: what turns a subgraph into bytes."""

from torch.export import ExportedProgram

from etlab.exir.partition.backend import BackendDetails, PreprocessResult
from etlab.exir.partition.compile_spec import CompileSpec

__all__ = ["BackendDetails", "CompileSpec", "ExportedProgram", "PreprocessResult"]
