"""A backend written in a notebook cell: `@etlab.backend` over a class."""

from etlab.custom_backend.backend_class import backend, backend_kernel
from etlab.custom_backend.stored_graph import StoredGraph

__all__ = ["StoredGraph", "backend", "backend_kernel"]
