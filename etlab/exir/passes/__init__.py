"""The rewrites of the compiler, one a file; `pipeline.py` says which run by default."""
