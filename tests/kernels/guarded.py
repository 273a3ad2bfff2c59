"""Runs the optimized cases on tensors that touch pages without access; a stray access is fatal.

A child process of test_optimized.py runs this as a script: it prints the case that it is about to
run, so that the last line names the culprit.
"""

import ctypes
import ctypes.util
import mmap
import sys
from typing import Any

import torch

from etlab.errors import NotSupportedError
from etlab.runtime import _native
from etlab.testing import run_kernel
from kernels.case import Case

_LIBC = ctypes.CDLL(ctypes.util.find_library("c"), use_errno=True)
_KEPT: list[mmap.mmap] = []


def guarded(tensor: torch.Tensor, *, at_end: bool) -> torch.Tensor:
    """A copy whose last (or first) element borders on a page without access."""
    if tensor.numel() == 0 or not tensor.is_contiguous():
        return tensor
    nbytes = tensor.numel() * tensor.element_size()
    pages = -(-nbytes // mmap.PAGESIZE)
    memory = mmap.mmap(-1, (pages + 2) * mmap.PAGESIZE)
    _KEPT.append(memory)
    start = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    for page in (0, pages + 1):
        address = ctypes.c_void_p(start + page * mmap.PAGESIZE)
        if _LIBC.mprotect(address, ctypes.c_size_t(mmap.PAGESIZE), 0) != 0:
            raise OSError(ctypes.get_errno(), "mprotect failed")
    offset = (pages + 1) * mmap.PAGESIZE - nbytes if at_end else mmap.PAGESIZE
    copy = torch.frombuffer(memory, dtype=tensor.dtype, count=tensor.numel(), offset=offset)
    return copy.reshape(tensor.shape).copy_(tensor)


def _guarded_argument(value: Any, *, at_end: bool) -> Any:
    if isinstance(value, torch.Tensor):
        return guarded(value, at_end=at_end)
    if isinstance(value, list):
        return [_guarded_argument(item, at_end=at_end) for item in value]
    return value


def run(case: Case, *, at_end: bool) -> None:
    args = tuple(_guarded_argument(arg, at_end=at_end) for arg in case.args)
    outputs = [guarded(torch.empty(t.shape, dtype=t.dtype), at_end=at_end) for t in case.expected()]
    run_kernel(case.operator, *args, outputs=outputs, **case.kwargs)


def main() -> None:
    from kernels.test_optimized import FAST_CASES

    if "--overrun" in sys.argv:  # shows that the guard works
        ctypes.memset(guarded(torch.zeros(5), at_end=True).data_ptr(), 0, 21)
    torch.set_num_threads(1)
    for instruction_set in ("generic", "neon", "avx2", "avx512"):
        try:
            _native.use_instruction_set(instruction_set)
        except NotSupportedError:
            continue
        for cases in FAST_CASES.values():
            for case in cases:
                print(instruction_set, str(case)[:200], flush=True)
                for at_end in (True, False):
                    run(case, at_end=at_end)
    print("done")


if __name__ == "__main__":
    main()
