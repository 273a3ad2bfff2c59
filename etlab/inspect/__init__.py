"""Data that pictures are drawn from: memory, delegation, size, graphs."""
