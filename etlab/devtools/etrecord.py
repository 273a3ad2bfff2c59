"""ETRecords, where ExecuTorch's documentation imports them from."""

from etlab.exir.record.archive import generate_etrecord, parse_etrecord
from etlab.exir.record.etrecord import ETRecord

__all__ = ["ETRecord", "generate_etrecord", "parse_etrecord"]
