"""The delegate that XNNPACK runs: ExecuTorch's `XnnpackBackend`, payload for payload."""
