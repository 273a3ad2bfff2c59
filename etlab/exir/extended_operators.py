"""Operators that only etlab's runtime has kernels for and that nothing expands.

A program holds them when `ExecutorchBackendConfig(extended_operators=True)` allows it; whatever can
be expanded into official operators is, and does not stand here.
"""

NAMES: frozenset[str] = frozenset({"aten::_fft_c2c.out", "aten::view_as_complex_copy.out"})
