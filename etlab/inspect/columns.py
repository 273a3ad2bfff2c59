"""Columns as a page reads them: bytes for numbers, a table and codes for texts."""

from collections.abc import Sequence
from typing import Any

import numpy as np


def coded(values: Sequence[str]) -> dict[str, Any]:
    """`{"table": texts, "codes": bytes of int32}`; `texts[codes[k]]` is value number k."""
    places: dict[str, int] = {}
    codes = [places.setdefault(value, len(places)) for value in values]
    return {"table": list(places), "codes": np.array(codes, np.int32).tobytes()}


def packed(values: Sequence[float], dtype: Any = np.float64) -> bytes:
    """The numbers as bytes; a page reads counts of bytes as float64."""
    return np.array(values, dtype).tobytes()
