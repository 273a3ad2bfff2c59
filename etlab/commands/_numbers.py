"""Numbers on a command line."""

import argparse


def count(text: str) -> int:
    """A whole number from 1; anything else is refused in words."""
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"expected a whole number from 1, got '{text}'")
    return number
