"""Kernel libraries, where ExecuTorch's scripts import them to have their kernels registered."""
