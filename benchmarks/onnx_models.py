"""The models of the speed benchmarks for ONNX Runtime: exported, quantized, run.

Needs the packages `onnx`, `onnxscript` and `onnxruntime`, which nothing else here does.
"""

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch


def is_available() -> bool:
    """Whether the packages are installed."""
    return all(
        importlib.util.find_spec(name) is not None for name in ("onnx", "onnxscript", "onnxruntime")
    )


def export(module: torch.nn.Module, inputs: tuple[torch.Tensor, ...], path: Path) -> None:
    """Write `path`, a float model that computes what `module` does."""
    torch.onnx.export(module, inputs, path, dynamo=True, external_data=False, opset_version=18)


def quantize(source: Path, inputs: tuple[torch.Tensor, ...], path: Path) -> None:
    """Write `path`, `source` with int8 weights a channel and uint8 activations (QDQ).

    Ranges are measured on `inputs`.
    """
    from onnxruntime.quantization import CalibrationDataReader, QuantFormat, quantize_static
    from onnxruntime.quantization.shape_inference import quant_pre_process

    class Inputs(CalibrationDataReader):  # type: ignore[misc]
        def __init__(self) -> None:
            names = OnnxMethod(source, 1).input_names
            arrays = [tensor.numpy() for tensor in inputs]
            self._samples = iter([dict(zip(names, arrays, strict=True))])

        def get_next(self) -> Any:
            return next(self._samples, None)

    prepared = path.with_suffix(".prepared.onnx")
    quant_pre_process(source, prepared, skip_symbolic_shape=True)
    quantize_static(prepared, path, Inputs(), quant_format=QuantFormat.QDQ, per_channel=True)
    prepared.unlink()


class OnnxMethod:
    """A model loaded by ONNX Runtime, called like a method of a program."""

    def __init__(self, path: Path, threads: int):
        import onnxruntime

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads
        options.inter_op_num_threads = 1
        self._session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
        self.input_names = [value.name for value in self._session.get_inputs()]

    def execute(self, inputs: Sequence[torch.Tensor]) -> list[Any]:
        """The outputs, as arrays."""
        arrays = [tensor.numpy() for tensor in inputs]
        outputs: list[Any] = self._session.run(
            None, dict(zip(self.input_names, arrays, strict=True))
        )
        return outputs
