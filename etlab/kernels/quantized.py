"""Kernels of `quantized_decomposed`: part of the runtime, whose import registers them."""

import etlab.runtime  # noqa: F401  registers the kernels
