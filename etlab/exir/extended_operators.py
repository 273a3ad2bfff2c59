"""Operators that only etlab's runtime has kernels for.

A program holds them when `ExecutorchBackendConfig(extended_operators=True)` allows it.
"""

# Nothing expands these: without the option they are refused.
NAMES: frozenset[str] = frozenset(
    {
        "aten::_fft_c2c.out",
        "aten::_linalg_eigh.eigenvalues",
        "aten::_linalg_svd.U",
        "aten::gcd.out",
        "aten::linalg_qr.out",
        "aten::view_as_complex_copy.out",
        "etlab::linear_blocks.out",
    }
)

# Without the option these are expanded into official operators.
WHOLE: frozenset[str] = frozenset(
    {
        "aten::scaled_dot_product_attention.out",
        "aten::lstm.input_out",
        "aten::gru.input_out",
        "aten::rnn_tanh.input_out",
        "aten::rnn_relu.input_out",
    }
)
