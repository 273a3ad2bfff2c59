"""Ready-made ways to group nodes."""
