"""Tools of ExecuTorch that are not part of a larger one, where its documentation imports them."""
