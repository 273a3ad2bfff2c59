"""ETRecords as files: zip archives in ExecuTorch's layout.

ETRECORD_V0                             empty; says what the file is
exported_program                        and exported_program_state_dict, …_constants,
                                        …_example_inputs
edge_dialect_exported_program/<method>  likewise
<name>/<method>                         further graphs, likewise
debug_handle_map, delegate_map, instruction_id_to_num_outs_map, export_graph_id    JSON
reference_outputs, representative_inputs                                           torch.save

Graphs are JSON, their other parts `torch.save`, as `graph_json` writes and reads them.
"""

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from etlab.errors import AccessError, InvalidArgumentError, InvalidProgramError
from etlab.exir.record.etrecord import (
    EDGE,
    EXPORTED,
    IDENTIFIER,
    MAPS,
    TENSORS,
    ETRecord,
    RecordedProgram,
)
from etlab.exir.record.graph_json import StoredProgram, tensors_from_bytes, tensors_to_bytes

if TYPE_CHECKING:
    from etlab.exir.edge_program import EdgeProgramManager

_PARTS = ("_state_dict", "_constants", "_example_inputs")


def write_archive(record: ETRecord, path: str | Path | IO[bytes]) -> None:
    """Write a record; takes and raises what `ETRecord.save` does."""
    if not record.edge or record.debug_handle_map is None:
        raise InvalidArgumentError(
            "an ETRecord is saved with an edge program and an executorch program in it; call"
            " to_executorch() and save what its get_etrecord() returns"
        )
    files = _files(record)
    try:
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in files.items():
                # No date: the same record gives the same bytes.
                archive.writestr(zipfile.ZipInfo(name), content)
    except OSError as error:
        raise AccessError(f"cannot write '{path}': {error.strerror}") from error


def _files(record: ETRecord) -> dict[str, bytes]:
    files = {IDENTIFIER: b""}
    graphs = {EXPORTED: record.exported} if record.exported is not None else {}
    graphs |= {f"{EDGE}/{name}": one for name, one in record.edge.items()}
    for name, one in {**graphs, **record.graphs}.items():
        stored = one.stored
        files[name] = stored.graph
        parts = (stored.state_dict, stored.constants, stored.example_inputs)
        files |= {name + suffix: part for suffix, part in zip(_PARTS, parts, strict=True)}
    for name in MAPS:
        if (value := getattr(record, name)) is not None:
            files[name] = json.dumps(value).encode()
    for name in TENSORS:
        if (value := getattr(record, name)) is not None:
            files[name] = tensors_to_bytes(value)
    files["export_graph_id"] = json.dumps(record.export_graph_id).encode()
    return files


def parse_etrecord(etrecord_path: str | Path | IO[bytes]) -> ETRecord:
    """Read an ETRecord, ours or official. Graphs become programs when they are asked for.

    Raises:
        AccessError: the file cannot be read.
        InvalidProgramError: it is no ETRecord, or damaged.
    """
    try:
        with zipfile.ZipFile(etrecord_path) as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
    except OSError as error:
        raise AccessError(f"cannot read '{etrecord_path}': {error.strerror}") from error
    except (zipfile.BadZipFile, EOFError, ValueError, NotImplementedError) as error:
        raise InvalidProgramError(f"'{etrecord_path}' is no ETRecord: {error}") from error
    if IDENTIFIER not in files:
        raise InvalidProgramError(
            f"'{etrecord_path}' is a zip archive without '{IDENTIFIER}': no ETRecord"
        )
    record = ETRecord()
    for name in files:
        if all(name + suffix in files for suffix in _PARTS):
            stored = StoredProgram(files[name], *(files[name + suffix] for suffix in _PARTS))
            _place(record, name, RecordedProgram(stored))
    for name in (*MAPS, "export_graph_id"):
        if name in files:
            setattr(record, name, _json(files[name], name))
    for name in TENSORS:
        if name in files:
            setattr(record, name, tensors_from_bytes(files[name], name))
    return record


def generate_etrecord(
    et_record: str | Path | IO[bytes],
    edge_dialect_program: "EdgeProgramManager",
    executorch_program: Any,
    extra_recorded_export_modules: Mapping[str, Any] | None = None,
) -> None:
    """Write an ETRecord of graphs at hand.

    Args:
        et_record: where to write it.
        edge_dialect_program: the edge programs as they were before `to_executorch`; copy the
            manager before partitioning, for delegates cannot be recorded.
        executorch_program: what `to_executorch` returned, or a `BundledProgram` of it.
        extra_recorded_export_modules: further graphs by name.

    Raises:
        EtlabError: as the methods of `ETRecord`.
    """
    record = ETRecord()
    exported = (extra_recorded_export_modules or {}).get(EXPORTED)
    record.add_exported_program(exported)
    record.add_edge_dialect_program(edge_dialect_program)
    record.add_executorch_program(executorch_program)
    others = {
        name: module
        for name, module in (extra_recorded_export_modules or {}).items()
        if name != EXPORTED
    }
    record.add_extra_export_modules(others)
    record.save(et_record)


def _place(record: ETRecord, name: str, program: RecordedProgram) -> None:
    if name == EXPORTED:
        record.exported = program
    elif name == EDGE or name.startswith(f"{EDGE}/"):
        record.edge[name.removeprefix(EDGE).removeprefix("/") or "forward"] = program
    else:
        record.graphs[name] = program


def _json(data: bytes, name: str) -> Any:
    try:
        value = json.loads(data)
    except ValueError as error:
        raise InvalidProgramError(f"the ETRecord's {name} is no JSON: {error}") from error
    is_map = isinstance(value, dict) and all(isinstance(one, dict) for one in value.values())
    if not is_map and not (name == "export_graph_id" and isinstance(value, int)):
        raise InvalidProgramError(f"the ETRecord's {name} is damaged: it is {value!r:.60}")
    return value
