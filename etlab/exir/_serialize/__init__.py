"""Program files where ExecuTorch's tools read them; `etlab.exir.emit` does the work."""
