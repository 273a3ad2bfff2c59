"""Emission: schema, writer, reader, file, dump."""
