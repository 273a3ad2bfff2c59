"""JSON files beside checkpoints and tokenizers."""

import json
from pathlib import Path
from typing import Any

from etlab.errors import InvalidArgumentError, NotFoundError


def read_json(path: Path, what: str) -> dict[str, Any]:
    """The names and values in a file.

    Args:
        path: of the file.
        what: it is, for the messages: "base.params".

    Raises:
        NotFoundError: there is no such file.
        InvalidArgumentError: it is no JSON object.
    """
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise NotFoundError(f"{what}: there is no '{path}'") from None
    except ValueError as error:
        raise InvalidArgumentError(f"{what}: '{path}' is no JSON: {error}") from error
    if not isinstance(content, dict):
        raise InvalidArgumentError(
            f"{what}: '{path}': expected names and values, got {type(content).__name__}"
        )
    return content


def read_json_if_there(path: Path, what: str) -> dict[str, Any]:
    """The same, with nothing in a file that is not there."""
    return read_json(path, what) if path.exists() else {}
