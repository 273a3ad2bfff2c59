"""The compiler: exported programs in, `.pte` programs out. `program` is the place to begin."""

from etlab.exir.config import EdgeCompileConfig, ExecutorchBackendConfig
from etlab.exir.edge import EdgeGraph
from etlab.exir.executorch_program import ExecutorchProgramManager
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.program import EdgeProgramManager, to_edge, to_edge_transform_and_lower

__all__ = [
    "CompileSpec",
    "EdgeCompileConfig",
    "EdgeGraph",
    "EdgeProgramManager",
    "ExecutorchBackendConfig",
    "ExecutorchProgramManager",
    "to_edge",
    "to_edge_transform_and_lower",
]
