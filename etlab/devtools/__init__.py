"""ExecuTorch's developer tools: ETDump, ETRecord, Inspector, BundledProgram.

program = to_edge_transform_and_lower(exported, generate_etrecord=True).to_executorch()
program.get_etrecord().save("model.etrecord")
loaded = Runtime.get().load_program(program.buffer, enable_etdump=True)
loaded.load_method("forward").execute(inputs)
loaded.write_etdump_result_to_file("model.etdp")
Inspector(etdump_path="model.etdp", etrecord="model.etrecord").print_data_tabular()

Files go both ways between these and ExecuTorch's own.
"""

from etlab.exir.record.archive import generate_etrecord, parse_etrecord
from etlab.exir.record.etrecord import ETRecord

__all__ = ["ETRecord", "generate_etrecord", "parse_etrecord"]
