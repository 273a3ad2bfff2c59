"""Operators that XNNPACK computes: one file a family, found by its presence."""
