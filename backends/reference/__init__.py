"""The reference backend, Python only: the one to copy when writing a backend.

It compiles what it is given to a portable program and runs that with etlab's own runtime: nothing
is gained, but every step of a backend is there. Read `partitioner.py`, `backend.py`, `delegate.py`.
"""

from etlab.backends.reference import delegate
from etlab.backends.reference.backend import ReferenceBackend
from etlab.backends.reference.partitioner import ReferencePartitioner

__all__ = ["ReferenceBackend", "ReferencePartitioner", "delegate"]
