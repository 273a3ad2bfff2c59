"""The packages of Arm's: TOSA's reference model, and the compiler for Ethos-U."""

import importlib.util

REFERENCE_MODEL = "tosa_reference_model"  # of the package tosa-tools
VELA = "ethosu"  # of the package ethos-u-vela
EXTRA = "arm"  # of etlab, with all of them


def has_reference_model() -> bool:
    """Whether the reference model can be imported; it is not."""
    return importlib.util.find_spec(REFERENCE_MODEL) is not None


def has_vela() -> bool:
    """Whether Arm's compiler for Ethos-U can be started; it is not imported."""
    return importlib.util.find_spec(VELA) is not None
