"""Integers that become other integers by way of float."""

from etlab.inspect.lint.quantization import REQUANTIZATION

RULE = REQUANTIZATION
