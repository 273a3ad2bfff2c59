"""The child process that owns ExecuTorch's own runtime; started by file, never imported.

It reads requests from its standard input and answers on the descriptor that was its standard output
(what the runtime prints goes to standard error). A message is a length as 8 little-endian bytes and
then a `torch.save` of plain values and tensors:

    {"load": uint8 tensor, "method": str}  -> {"ok": True, "version": str}
        with "tensor_data": uint8 tensor, the content of a .ptd file
    {"method": str}                        -> {"ok": True}
        another method of the program that is loaded
    {"execute": [values]}                  -> {"ok": True, "outputs": [values]}
    {"unload": True}                       -> {"ok": True}
    {"backends": True}                     -> {"ok": True, "backends": [str]}
    anything that fails                    -> {"ok": False, "reason": str}
"""

import contextlib
import io
import os
import struct
import sys
import tempfile
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO


def read_message(stream: BinaryIO) -> Any:
    """The next message, or None at the end of the stream."""
    import torch

    head = stream.read(8)
    if len(head) < 8:
        return None
    body = stream.read(struct.unpack("<q", head)[0])
    return torch.load(io.BytesIO(body), weights_only=True)


def write_message(stream: BinaryIO, message: Any) -> None:
    """Send `message`."""
    import torch

    buffer = io.BytesIO()
    torch.save(message, buffer)
    body = buffer.getbuffer()
    stream.write(struct.pack("<q", len(body)))
    stream.write(body)
    stream.flush()


def main() -> None:
    """Answer requests until the standard input ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    import torch

    torch.set_num_threads(1)
    method = program = None
    while (request := read_message(sys.stdin.buffer)) is not None:
        try:
            if "load" in request:
                from executorch.runtime import Runtime

                program_bytes = request["load"].numpy().tobytes()
                if b"quantized_decomposed" in program_bytes:
                    with contextlib.suppress(ImportError):  # registers the quantized operators
                        import executorch.kernels.quantized  # noqa: F401
                with tempfile.TemporaryDirectory() as folder:
                    data = _write_tensor_data(folder, request)
                    program = Runtime.get().load_program(program_bytes, **data)
                method = program.load_method(request["method"])
                answer = {"ok": True, "version": metadata.version("executorch")}
            elif "method" in request:
                assert program is not None, "a method before its program"
                method = program.load_method(request["method"])
                answer = {"ok": True}
            elif "unload" in request:
                method = program = None
                answer = {"ok": True}
            elif "backends" in request:
                from executorch.runtime import Runtime

                names = Runtime.get().backend_registry.registered_backend_names
                answer = {"ok": True, "backends": list(names)}
            else:
                assert method is not None, "execute before load"
                outputs = method.execute(request["execute"])
                answer = {"ok": True, "outputs": [_own(value) for value in outputs]}
        except Exception as error:
            answer = {"ok": False, "reason": f"{type(error).__name__}: {error}"}
        sys.stderr.flush()
        write_message(answers, answer)


def _write_tensor_data(folder: str, request: dict[str, Any]) -> dict[str, str]:
    """The argument that gives a program its .ptd file, which this runtime takes by path."""
    if "tensor_data" not in request:
        return {}
    path = Path(folder) / "data.ptd"
    path.write_bytes(request["tensor_data"].numpy().tobytes())
    return {"data_path": str(path)}


def _own(value: Any) -> Any:
    """`value` in memory that the runtime will not overwrite."""
    import torch

    return value.clone() if isinstance(value, torch.Tensor) else value


if __name__ == "__main__":
    main()
