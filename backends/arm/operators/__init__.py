"""Operators that become TOSA's: one file a family, found by its presence."""
