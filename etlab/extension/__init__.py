"""What ExecuTorch keeps beside compiler and runtime, where its documentation imports it from."""
