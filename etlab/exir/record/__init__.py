"""ETRecord: what a compiler run knows of a program, kept for the tools that look at its runs."""
