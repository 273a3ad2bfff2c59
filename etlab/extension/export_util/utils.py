"""`save_pte_program`: a program with its .ptd files on disk."""

from pathlib import Path

from etlab.exir import ExecutorchProgramManager

__all__ = ["save_pte_program"]


def save_pte_program(prog: ExecutorchProgramManager, model_name: str, output_dir: str = "") -> str:
    """Write a program, and beside it the .ptd files that it needs.

    Args:
        prog: what `to_executorch` returned.
        model_name: of the file; a name that ends with .pte is taken as a path, another one stands
            in `output_dir`.
        output_dir: an existing folder for the program and for its .ptd files.

    Returns:
        The path of the program.

    Raises:
        AccessError: a place cannot be written; the message says why.
    """
    is_path = model_name.endswith(".pte")
    path = Path(model_name) if is_path else Path(output_dir) / f"{model_name}.pte"
    prog.save(path)
    prog.write_tensor_data_to_file(output_dir)
    return str(path)
