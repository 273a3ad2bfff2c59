"""What to write instead of operators that nothing serves."""

_CONSTANT = (
    "it depends on its matrix step by step: where the matrix is a constant, compute the result "
    "before the export"
)

WAYS_OUT: dict[str, str] = {
    "aten.histogram.bin_ct": "torch.histc counts the same values",
    "aten.nextafter.default": "float64 has no wider dtype to step in: convert to float32 before",
    "aten.poisson.default": (
        "draw from torch.normal(rate, rate.sqrt()), which is close for rates above some tens, or "
        "pass the numbers in as an input"
    ),
    "aten.linalg_eig.default": _CONSTANT,
    "aten.linalg_matrix_exp.default": _CONSTANT,
}
