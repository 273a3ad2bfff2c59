"""ExecuTorch's developer tools: ETDump, ETRecord, Inspector, BundledProgram."""
