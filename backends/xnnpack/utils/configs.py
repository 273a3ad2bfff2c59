"""The options that ExecuTorch's documentation gives for programs with XNNPACK."""

from typing import Any

from etlab.exir import EdgeCompileConfig, ExecutorchBackendConfig

__all__ = [
    "get_transform_passes",
    "get_xnnpack_edge_compile_config",
    "get_xnnpack_executorch_backend_config",
]


def get_xnnpack_edge_compile_config(skip_dim_order: bool = False) -> EdgeCompileConfig:
    """Options of `to_edge`; layouts are settled for XNNPACK whatever they say."""
    return EdgeCompileConfig(_check_ir_validity=False, _skip_dim_order=skip_dim_order)


def get_xnnpack_executorch_backend_config(
    additional_passes: list[Any] | None = None,
) -> ExecutorchBackendConfig:
    """Options of `to_executorch`: delegates behind the FlatBuffer, and these passes."""
    return ExecutorchBackendConfig(passes=additional_passes or [], extract_delegate_segments=True)


def get_transform_passes(additional_passes: list[Any] | None = None) -> list[Any]:
    """Passes to run before partitioning: these; what XNNPACK needs, its partitioner runs itself."""
    return list(additional_passes or [])
