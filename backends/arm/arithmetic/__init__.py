"""TOSA's integer operators in PyTorch, as the specification defines them.

A second implementation beside Arm's reference model, to compare with and to see every value.
"""

from etlab.backends.arm.arithmetic.evaluate import evaluate

__all__ = ["evaluate"]
