"""The payload of an XNNPACK delegate: its content as dataclasses, its file, its text."""

from etlab.backends.xnnpack.payload.dump import dump_payload
from etlab.backends.xnnpack.payload.file import Payload, read_payload, write_payload

__all__ = ["Payload", "dump_payload", "read_payload", "write_payload"]
