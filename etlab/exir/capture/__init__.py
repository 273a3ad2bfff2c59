"""Options, where ExecuTorch's documentation imports them from."""

from etlab.exir.config import EdgeCompileConfig, ExecutorchBackendConfig

__all__ = ["EdgeCompileConfig", "ExecutorchBackendConfig"]
