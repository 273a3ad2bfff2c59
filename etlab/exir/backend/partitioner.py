"""Partitioners: who takes which nodes."""

from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult

__all__ = ["DelegationSpec", "PartitionResult", "Partitioner"]
