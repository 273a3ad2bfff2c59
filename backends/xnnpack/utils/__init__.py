"""Options for programs with XNNPACK."""
