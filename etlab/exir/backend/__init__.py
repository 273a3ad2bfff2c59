"""Backends and partitioners where ExecuTorch's documentation imports them from.

The objects are those of `etlab.exir.partition`.
"""
