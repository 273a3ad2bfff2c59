"""Options of the two halves of a lowering."""

from etlab.exir.config import EdgeCompileConfig, ExecutorchBackendConfig

__all__ = ["EdgeCompileConfig", "ExecutorchBackendConfig"]
