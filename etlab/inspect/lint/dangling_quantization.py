"""Values rounded to integers that are computed with in float."""

from etlab.inspect.lint.quantization import DANGLING

RULE = DANGLING
