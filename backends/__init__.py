"""Backends, one folder each: a partitioner, a `preprocess`, and what runs its bytes."""
