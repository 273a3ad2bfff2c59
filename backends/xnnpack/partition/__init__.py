"""The partitioners, where ExecuTorch's documentation imports them from."""
