"""etlab.exir.passes."""
