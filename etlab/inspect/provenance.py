"""Where a node comes from; the functions stand in `etlab.exir.provenance`."""

from etlab.exir.provenance import (
    bytes_of,
    module_of,
    operator_of,
    plain_path,
    shape_of,
    short_operator,
    source_line,
    source_of,
    source_place,
    values_of,
)

__all__ = [
    "bytes_of",
    "module_of",
    "operator_of",
    "plain_path",
    "shape_of",
    "short_operator",
    "source_line",
    "source_of",
    "source_place",
    "values_of",
]
