"""Programs of one delegate, written by hand: a payload of chosen nodes, without a compiler."""

import dataclasses
from typing import Any

import torch

from etlab.backends.xnnpack.payload import schema as payload
from etlab.backends.xnnpack.payload.nodes import NODES
from etlab.exir.emit import schema
from etlab.exir.emit.file import Segment, assemble
from etlab.exir.emit.flatbuffer import write_flatbuffer
from etlab.exir.emit.scalar_type import scalar_type_of
from etlab.runtime import Runtime

D = payload.Datatype
FLOATS = {torch.float32: D.FP32, torch.float16: D.FP16, torch.bfloat16: D.BF16}


class PayloadProgram:
    """Collects values and nodes; `pte()` is the file, `run()` its result on our runtime.

    Constants lie inside the FlatBuffer, as in old files. Shapes are those in memory.
    """

    def __init__(self) -> None:
        self.values: list[payload.Value] = []
        self.nodes: list[payload.Node] = []
        self.buffers: list[payload.Buffer] = [payload.Buffer(b"")]
        self.inputs: list[torch.Tensor] = []
        self.outputs: list[torch.Tensor] = []
        self._output_ids: list[int] = []

    def input(self, tensor: torch.Tensor, datatype: D | None = None, quant: Any = None) -> int:
        """A value that the caller gives."""
        self.inputs.append(tensor)
        datatype = FLOATS[tensor.dtype] if datatype is None else datatype
        return self._value(tensor.shape, datatype, quant, external_id=len(self.inputs) - 1, flags=1)

    def constant(self, tensor: torch.Tensor, datatype: D | None = None, quant: Any = None) -> int:
        """A value of the file; `tensor` is what lies in memory."""
        datatype = FLOATS[tensor.dtype] if datatype is None else datatype
        shape = tensor.shape
        if datatype in (D.QCINT4, D.QBINT4):
            shape = (*shape[:-1], shape[-1] * 2)
        data = tensor.contiguous().view(torch.uint8).numpy().tobytes()
        self.buffers.append(payload.Buffer(data))
        return self._value(shape, datatype, quant, constant_buffer_idx=len(self.buffers) - 1)

    def between(self, shape, datatype: D = D.FP32, quant: Any = None) -> int:
        """A value that a node computes."""
        return self._value(shape, datatype, quant)

    def output(self, like: torch.Tensor, datatype: D | None = None, quant: Any = None) -> int:
        """A value that the caller gets, of shape and dtype of `like`."""
        self.outputs.append(like)
        datatype = FLOATS.get(like.dtype, D.INT32) if datatype is None else datatype
        self._output_ids.append(len(self.values))
        return self._value(like.shape, datatype, quant, flags=2)

    def node(self, name: str, limits: tuple[float, float] | None = None, **fields: Any) -> None:
        """A node; `limits` are of its result."""
        limit = None if limits is None else payload.OutputMinMax(*limits)
        self.nodes.append(payload.Node(NODES[name](**fields), len(self.nodes), limit))

    def _value(self, shape, datatype, quant, **fields) -> int:
        shape = tuple(int(size) for size in shape)
        fields = {"external_id": payload.NO_VALUE, "id_out": len(self.values)} | fields
        value: Any = payload.TensorValue(datatype, len(shape), shape, **fields)
        if quant is not None:
            value = payload.QuantizedTensorValue(value, quant)
        self.values.append(payload.Value(value))
        return len(self.values) - 1

    def payload_bytes(self) -> bytes:
        """The delegate's bytes: a bare FlatBuffer."""
        values = list(self.values)
        for place, index in enumerate(self._output_ids):
            values[index] = _with_external_id(values[index], len(self.inputs) + place)
        graph = payload.Graph(
            version="0",
            xnodes=tuple(self.nodes),
            xvalues=tuple(values),
            num_externs=len(self.inputs) + len(self.outputs),
            input_ids=tuple(range(len(self.inputs))),
            output_ids=tuple(range(len(self.inputs), len(self.inputs) + len(self.outputs))),
            constant_buffer=tuple(self.buffers),
        )
        return bytes(write_flatbuffer(graph, identifier=b"XN00", minimum_alignment=16))

    def pte(self) -> bytes:
        """The program."""
        return program_of(self.payload_bytes(), self.inputs, self.outputs)

    def run(self, *inputs: torch.Tensor) -> list[torch.Tensor]:
        """Results on our runtime, of the inputs given at building or others."""
        method = Runtime.get().load_program(self.pte()).load_method("forward")
        return method.execute(list(inputs) or self.inputs)


def _with_external_id(value: payload.Value, number: int) -> payload.Value:
    content: Any = value.xvalue_union
    if isinstance(content, payload.QuantizedTensorValue):
        tensor = dataclasses.replace(content.tensor_value, external_id=number)
        return payload.Value(payload.QuantizedTensorValue(tensor, content.quant_params))
    return payload.Value(dataclasses.replace(content, external_id=number))


def program_of(
    delegate: bytes,
    inputs: list[torch.Tensor],
    outputs: list[torch.Tensor],
    *,
    dynamic: bool = True,
) -> bytes:
    """A program whose only instruction calls an XnnpackBackend delegate."""
    values = []
    end = 0
    for tensor in [*inputs, *outputs]:
        rank = tensor.dim()
        values.append(
            schema.EValue(
                schema.Tensor(
                    scalar_type_of(tensor.dtype),
                    sizes=tuple(tensor.shape),
                    dim_order=tuple(range(rank)),
                    allocation_info=schema.AllocationDetails(1, end),
                    shape_dynamism=schema.TensorShapeDynamism.DYNAMIC_BOUND,
                )
            )
        )
        end += -(-tensor.numel() * tensor.element_size() // 64) * 64
    places = tuple(range(len(values)))
    plan = schema.ExecutionPlan(
        name="forward",
        container_meta_type=schema.ContainerMetadata("", ""),
        values=tuple(values),
        inputs=places[: len(inputs)],
        outputs=places[len(inputs) :],
        chains=(schema.Chain((), (), (schema.Instruction(schema.DelegateCall(0, places)),)),),
        operators=(),
        delegates=(
            schema.BackendDelegate("XnnpackBackend", schema.BackendDelegateDataReference(), ()),
        ),
        non_const_buffer_sizes=(0, end),
    )
    program = schema.Program(
        execution_plan=(plan,),
        constant_buffer=(),
        constant_segment=schema.SubsegmentOffsets(0, (0,)),
        backend_delegate_data=(schema.BackendDelegateInlineData(delegate),),
    )
    return assemble(program, [Segment(0, [])])[0].to_bytes()
