"""The call of a delegate."""

from etlab.exir.partition.delegate import executorch_call_delegate

__all__ = ["executorch_call_delegate"]
