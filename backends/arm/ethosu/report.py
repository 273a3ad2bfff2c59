"""What Vela says of the code that it made: its summary and its debug database, as an `Estimate`.

The summary is a table of one row. The database is XML around tables: "perf" has a row for each
operator of the NPU, "perf_debug" when it runs, "tensors" where values lie and how long.
"""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from xml.etree import ElementTree

from etlab.backends.arm.ethosu.compile_spec import EthosUCompileSpec
from etlab.exir.partition.estimate import (
    Estimate,
    EstimatedMemory,
    EstimatedOperator,
    EstimatedTensor,
)

Row = Mapping[str, str]

# Vela's names of the memories in its summary and in its database, and what users call them.
_MEMORIES = {
    "sram": ("Sram", "SRAM"),
    "dram": ("Dram", "DRAM"),
    "on_chip_flash": ("OnChipFlash", "on-chip flash"),
    "off_chip_flash": ("OffChipFlash", "off-chip flash"),
}
_OF_DATABASE = dict(_MEMORIES.values())
_GIBI = 1024.0**3
_KIBI = 1024.0


def read_estimate(summary: Path, database: Path, spec: EthosUCompileSpec, source: str) -> Estimate:
    """Read what Vela wrote.

    Args:
        summary: the file with the summary.
        database: the file with the debug database.
        spec: what Vela was told.
        source: name and version of Vela.

    Raises:
        OSError, KeyError, ValueError: Vela wrote something else.
    """
    (totals,) = csv.DictReader(io.StringIO(summary.read_text()))
    tables = dict(_tables(database.read_text()))
    clock = float(totals["core_clock"])
    return Estimate(
        source=source,
        device=spec.target,
        conditions={
            "system configuration": totals["system_config"],
            "memory mode": totals["memory_mode"],
            "weights in": totals["weights_storage_area"],
            "values in": totals["feature_map_storage_area"],
        },
        clock=clock,
        cycles=round(float(totals["cycles_total"])),
        macs=round(float(totals["nn_macs"])),
        weights=round(float(totals["total_original_weights"])),
        packed_weights=round(float(totals["total_npu_encoded_weights"])),
        operators=tuple(_operators(tables, spec)),
        memories=tuple(_memories(totals)),
        tensors=tuple(_tensors(tables)),
    )


def _tables(database: str) -> Iterator[tuple[str, list[Row]]]:
    """The tables by name, rows by column."""
    for table in ElementTree.fromstring(database).iter("table"):
        rows = csv.DictReader(io.StringIO((table.text or "").strip()))
        yield table.get("name", ""), list(rows)


def _operators(
    tables: Mapping[str, list[Row]], spec: EthosUCompileSpec
) -> Iterator[EstimatedOperator]:
    most = int(spec.target.rpartition("-")[2])  # multiplications a cycle
    steps = {row["id"]: int(row["time_index"]) for row in tables.get("perf_debug", ())}
    for place, row in enumerate(tables["perf"]):
        cycles, macs = int(row["op_cycles"]), int(row["mac_count"])
        access = {
            title: int(row[f"{name}_ac"])
            for name, title in _MEMORIES.values()
            if int(row.get(f"{name}_ac") or 0)
        }
        yield EstimatedOperator(
            name=row["name"],
            node="",
            kind=row["operator"],
            unit="CPU" if row["operator"] == "Passthrough" else "NPU",
            cycles=cycles,
            macs=macs,
            utilization=macs / (cycles * most) if cycles else 0.0,
            staging=int(row["staging_usage"]),
            access=access,
            step=steps.get(row["id"], place),
        )


def _memories(totals: Row) -> Iterator[EstimatedMemory]:
    for name, (_, title) in _MEMORIES.items():
        used = round(float(totals[f"{name}_memory_used"]) * _KIBI)
        written = sum(
            round(float(totals[f"{name}_{kind}_write_bytes"])) for kind in ("feature_map", "weight")
        )
        # The total has scales and tables, too, which are only read.
        read = round(float(totals[f"{name}_total_bytes"])) - written
        cycles = round(float(totals[f"cycles_{name}_access"]))
        if used or read or written or cycles:
            bandwidth = float(totals[f"{name}_bandwidth"]) * _GIBI
            yield EstimatedMemory(title, used, read, written, cycles, bandwidth)


def _tensors(tables: Mapping[str, list[Row]]) -> Iterator[EstimatedTensor]:
    for row in tables.get("tensors", ()):
        yield EstimatedTensor(
            name=row["name"],
            memory=_OF_DATABASE.get(row["memory"], row["memory"]),
            usage=row["usage"],
            offset=int(row["start_address"], 16),
            nbytes=int(row["size"], 16),
            first=int(row["start_time"]),
            last=int(row["end_time"]),
        )
