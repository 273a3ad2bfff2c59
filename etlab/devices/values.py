"""Inputs and outputs of `etlab-run` as files.

A tensor is a .npy file; bfloat16, which NumPy does not know, has elements of two untyped bytes
("V2"). `outputs.json` lists the outputs of a call, see `runtime/tools/support/outputs.h`.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from etlab.errors import AccessError, InvalidArgumentError
from etlab.runtime import TraceEvent


def tensor_to_array(tensor: torch.Tensor) -> np.ndarray[Any, Any]:
    """A tensor as an array that .npy can hold."""
    plain = tensor.detach().cpu().contiguous()
    if plain.dtype == torch.bfloat16:
        return plain.view(torch.int16).numpy().view("V2")
    return plain.resolve_neg().resolve_conj().numpy()


def array_to_tensor(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """The tensor of an array that `tensor_to_array` or `etlab-run` made; memory of its own."""
    if array.dtype == np.dtype("V2"):
        return torch.from_numpy(array.view(np.int16).copy()).view(torch.bfloat16)
    return torch.from_numpy(np.array(array))


def load_tensor(path: Path) -> torch.Tensor:
    """The tensor of a .npy file from anywhere.

    Raises:
        InvalidArgumentError: no such file, or of a type that programs do not have.
        AccessError: the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            array = np.lib.format.read_array(file, allow_pickle=False)
            if file.read(1):
                raise ValueError("there is more behind its elements")
        if array.dtype.byteorder == ">":
            raise TypeError(f"{array.dtype} is big-endian")
        return array_to_tensor(array)
    except OSError as error:
        raise AccessError(f"cannot read {path}: {error.strerror}") from None
    except Exception as error:  # NumPy parses the header with Python's parser and raises its errors
        said = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise InvalidArgumentError(f"{path}: no .npy file of a tensor: {said}") from None


def save_input(value: Any, folder: Path, index: int) -> str:
    """Write input `index` of a call where it is a tensor; the word to give behind `--inputs`.

    Raises:
        InvalidArgumentError: no program has such an input.
    """
    if isinstance(value, torch.Tensor):
        name = f"input_{index}.npy"
        np.save(folder / name, tensor_to_array(value), allow_pickle=False)
        return name
    if value is None:
        return "none"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float | str):
        return repr(value) if isinstance(value, float) else str(value)
    raise InvalidArgumentError(
        f"input {index}: expected a tensor, number, text or None, got {type(value).__name__}"
    )


def save_outputs(outputs: Sequence[Any], folder: Path) -> None:
    """Write flat outputs as `etlab-run` does."""
    folder.mkdir(parents=True, exist_ok=True)
    described = [_save_output(value, folder, str(index)) for index, value in enumerate(outputs)]
    text = ",\n ".join(json.dumps(one) for one in described)
    (folder / "outputs.json").write_text(f"[{text}]\n")


def load_outputs(folder: Path) -> list[Any]:
    """The flat outputs that `etlab-run` left in a folder."""
    return [_load_output(one, folder) for one in json.loads((folder / "outputs.json").read_text())]


def save_events(events: Sequence[tuple[int, str, TraceEvent]], path: Path) -> None:
    """Write (run, kind, event) as `etlab-run --profile` does."""
    with path.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["run", "instruction", "kind", "name", "start_ns", "duration_ns"])
        for run, kind, event in events:
            row = [run, event.instruction, kind, event.name, event.start, event.duration]
            writer.writerow(row)


def load_events(path: Path) -> list[TraceEvent]:
    """The events of a profile, in order."""
    with path.open(newline="") as file:
        return [
            TraceEvent(
                int(row["instruction"]),
                row["name"] or row["kind"],
                int(row["start_ns"]),
                int(row["duration_ns"]),
            )
            for row in csv.DictReader(file)
        ]


def _save_output(value: Any, folder: Path, place: str) -> dict[str, Any]:
    if value is None:
        return {"kind": "none"}
    if isinstance(value, torch.Tensor):
        file = f"output_{place}.npy"
        np.save(folder / file, tensor_to_array(value), allow_pickle=False)
        dtype = str(value.dtype).removeprefix("torch.")
        return {"kind": "tensor", "dtype": dtype, "file": file}
    if isinstance(value, list):
        items = [_save_output(item, folder, f"{place}_{i}") for i, item in enumerate(value)]
        return {"kind": "list", "items": items}
    return {"kind": type(value).__name__, "value": value}


def _load_output(described: dict[str, Any], folder: Path) -> Any:
    match described["kind"]:
        case "none":
            return None
        case "tensor":
            # The name alone: a device does not choose which files of this machine are read.
            return load_tensor(folder / Path(described["file"]).name)
        case "list":
            return [_load_output(item, folder) for item in described["items"]]
        case "float":
            return float(described["value"])
        case _:
            return described["value"]
