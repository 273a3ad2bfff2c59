"""The Python face of the runtime that is older than `etlab.runtime`."""
