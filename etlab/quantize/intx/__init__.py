"""Weights of few bits in groups, by torchao's `quantize_`; the modules import torchao."""
