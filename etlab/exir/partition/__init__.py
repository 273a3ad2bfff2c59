"""Partitioning: who computes what, and the calls that result."""

from etlab.exir.partition.backend import BackendDetails, PreprocessResult, ValueOrigin
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.delegate import LoweredModule, executorch_call_delegate
from etlab.exir.partition.helpers import partition_by_support, tag_constant_data
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult
from etlab.exir.partition.registry import partitioner_class, partitioner_classes

__all__ = [
    "BackendDetails",
    "CompileSpec",
    "DelegationSpec",
    "LoweredModule",
    "PartitionResult",
    "Partitioner",
    "PreprocessResult",
    "ValueOrigin",
    "executorch_call_delegate",
    "partition_by_support",
    "partitioner_class",
    "partitioner_classes",
    "tag_constant_data",
]
