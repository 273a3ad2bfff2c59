"""etlab: a Jupyter workbench for taking PyTorch models to devices."""

__version__ = "0.1.0"
