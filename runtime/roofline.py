"""What this machine can do at most: arithmetic and reading, measured."""

import dataclasses
import functools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from etlab.runtime import _native

_BUFFER = 64 << 20  # bytes; several times larger than a core's share of the caches


@dataclasses.dataclass(frozen=True, slots=True)
class Roofline:
    """The two limits of a kernel.

    Attributes:
        threads: that were measured together.
        flops: floating-point operations a second of float32 products that need no memory.
        bandwidth: bytes a second read from main memory.
    """

    threads: int
    flops: float
    bandwidth: float

    def seconds(self, flops: int | None, nbytes: int | None) -> float | None:
        """The least time for so much arithmetic and so many bytes; None when nothing is known."""
        known = [
            amount / limit
            for amount, limit in ((flops, self.flops), (nbytes, self.bandwidth))
            if amount
        ]
        return max(known) if known else None

    @property
    def ridge(self) -> float:
        """FLOPs a byte from which on arithmetic is the limit."""
        return self.flops / self.bandwidth

    def __str__(self) -> str:
        """Both limits."""
        count = f"{self.threads} thread{'' if self.threads == 1 else 's'}"
        return f"{self.flops / 1e9:.1f} GFLOP/s, {self.bandwidth / 1e9:.1f} GB/s with {count}"


@functools.cache
def measure_roofline(threads: int = 1) -> Roofline:
    """Measure the limits; half a second, once for each number of threads.

    Args:
        threads: that compute and read at the same time.
    """
    return Roofline(
        threads,
        _together(threads, lambda: _native.peak_flops(20)),
        _together(threads, lambda: _native.read_peak(_BUFFER, 5)),
    )


def _together(threads: int, measure: Callable[[], float]) -> float:
    """The sum over threads that measure at the same time."""
    if threads == 1:
        return measure()
    with ThreadPoolExecutor(threads) as pool:
        return sum(pool.map(lambda _: measure(), range(threads)))
