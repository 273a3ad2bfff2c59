"""Run by file in a child process: ExecuTorch's developer tools over a folder of our files.

The folder holds `<name>.pte`, `.etdp`, `.bin` (debug buffer), `.etrecord` and `.bpte` of ours, and
`inputs.pt`. Writes `official_<name>.etdp` and `.bin` of the same programs in the official runtime,
and `answers.json` with what the official tools say of our files.
"""

import json
import sys
from pathlib import Path
from typing import Any

import torch


def main(folder: Path) -> None:
    from executorch.devtools import Inspector

    inputs = torch.load(folder / "inputs.pt", weights_only=True)
    answers: dict[str, Any] = {}
    for program in sorted(folder.glob("*.pte")):
        name = program.stem
        run_official(program, inputs, folder / f"official_{name}")
        inspector = Inspector(
            etdump_path=str(folder / f"{name}.etdp"),
            debug_buffer_path=str(folder / f"{name}.bin"),
            etrecord=str(folder / f"{name}.etrecord"),
        )
        frame = inspector.to_dataframe()
        answers[name] = {
            "events": list(zip(frame.event_block_name, frame.event_name, strict=True)),
            "runs": [len(raw) for raw in frame.raw],
            "operators": dict(zip(frame.event_name, map(list, frame.op_types), strict=True)),
            "official": official_events(folder / f"official_{name}.etdp"),
            "bundle": verify(folder / f"{name}.bpte"),
        }
        if name in ("portable", "whole"):
            gaps = inspector.calculate_numeric_gap(
                "L1", reference_graph="edge_dialect_exported_program"
            )
            answers[name]["gaps"] = {
                " ".join(row.aot_ops): list(row.gap) for row in gaps.itertuples()
            }
    (folder / "answers.json").write_text(json.dumps(answers))


def run_official(program: Path, inputs: list[Any], target: Path) -> None:
    from executorch.runtime import Runtime

    loaded = Runtime.get().load_program(program, enable_etdump=True, debug_buffer_size=1 << 20)
    method = loaded.load_method("forward")
    for _ in range(2):
        method.execute(inputs)
    loaded.write_etdump_result_to_file(f"{target}.etdp", f"{target}.bin")


def official_events(dump: Path) -> list[tuple[str, str]]:
    from executorch.devtools import Inspector

    frame = Inspector(etdump_path=str(dump)).to_dataframe()
    return [
        (block, name)
        for block, name, is_node in zip(
            frame.event_block_name, frame.event_name, frame.is_delegated_op, strict=True
        )
        if not is_node
    ]


def verify(bundle: Path) -> list[bool]:
    """Whether the official runtime finds every case's outputs as expected."""
    from executorch.extension.pybindings.portable_lib import _load_bundled_program_from_buffer

    results = []
    for index in range(2):
        loaded = _load_bundled_program_from_buffer(bundle.read_bytes())
        try:
            loaded.verify_result_with_bundled_expected_output("forward", index, 1e-4, 1e-5)
            results.append(True)
        except RuntimeError:
            results.append(False)
    return results


if __name__ == "__main__":
    main(Path(sys.argv[1]))
