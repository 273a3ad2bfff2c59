"""Operators by dialect."""
