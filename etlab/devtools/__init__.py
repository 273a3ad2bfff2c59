"""ExecuTorch's developer tools: ETDump, ETRecord, Inspector, BundledProgram.

program = to_edge_transform_and_lower(exported, generate_etrecord=True).to_executorch()
program.get_etrecord().save("model.etrecord")
loaded = Runtime.get().load_program(program.buffer, enable_etdump=True)
loaded.load_method("forward").execute(inputs)
loaded.write_etdump_result_to_file("model.etdp")
Inspector(etdump_path="model.etdp", etrecord="model.etrecord").print_data_tabular()

Files go both ways between these and ExecuTorch's own.
"""

from etlab.devtools.bundled_program import BundledProgram, MethodTestCase, MethodTestSuite
from etlab.devtools.events import Event, EventBlock, PerfData, TimeScale
from etlab.devtools.inspector import Inspector
from etlab.devtools.numeric_gap import NumericalComparatorBase
from etlab.exir.record.archive import generate_etrecord, parse_etrecord
from etlab.exir.record.etrecord import ETRecord

__all__ = [
    "BundledProgram",
    "ETRecord",
    "Event",
    "EventBlock",
    "Inspector",
    "MethodTestCase",
    "MethodTestSuite",
    "NumericalComparatorBase",
    "PerfData",
    "TimeScale",
    "generate_etrecord",
    "parse_etrecord",
]
