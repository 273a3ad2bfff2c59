"""A payload as text: stable, line by line, made to be read in reviews."""

from dataclasses import fields
from typing import Any

from etlab.backends.xnnpack.payload.file import read_payload
from etlab.backends.xnnpack.payload.schema import (
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    NO_VALUE,
    Graph,
    Node,
    PerChannelGroupQuant,
    PerChannelQuant,
    PerTensorQuant,
    PerTokenDynamicQuant,
    QuantizedTensorValue,
    QuantParams,
    Value,
    tensor_of,
)


def dump_payload(payload: bytes | bytearray | memoryview | Graph) -> str:
    """The text of a payload.

    Args:
        payload: its bytes, or its graph.

    Raises:
        InvalidProgramError: the bytes are no payload.
    """
    graph = payload if isinstance(payload, Graph) else read_payload(payload).graph
    lines = [f"xnnpack graph version {graph.version}, {graph.num_externs} externals"]
    for index, entry in enumerate((graph.constant_data or ())[1:], start=1):
        place = f"named {entry.named_key[:24]}" if entry.named_key else f"at {entry.offset}"
        lines.append(f"constant {index}: {entry.size} bytes {place}")
    for index, buffer in enumerate((graph.constant_buffer or ())[1:], start=1):
        lines.append(f"constant {index}: {len(buffer.storage or b'')} bytes inline")
    lines += [_describe_value(value, graph) for value in graph.xvalues or ()]
    lines += [_describe_node(node) for node in graph.xnodes or ()]
    return "\n".join(lines)


def _describe_value(value: Value, graph: Graph) -> str:
    tensor = tensor_of(value)
    if tensor is None:
        return "nothing"
    sizes = ", ".join(str(size) for size in tensor.dims or ())
    text = f"%{tensor.id_out} = {tensor.datatype.name.lower()}[{sizes}]"
    content = value.xvalue_union
    if isinstance(content, QuantizedTensorValue):
        text += _describe_quantization(content.quant_params)
    if tensor.constant_buffer_idx:
        text += f" constant #{tensor.constant_buffer_idx}"
    if tensor.flags & EXTERNAL_INPUT:
        text += f" input {tensor.external_id}"
    if tensor.flags & EXTERNAL_OUTPUT:
        text += f" output {tensor.external_id}"
    if tensor.dq_datatype:
        text += f" quantized at run time to {tensor.dq_datatype.name.lower()}"
    return text


def _describe_quantization(quantization: QuantParams | None) -> str:
    match quantization:
        case PerTensorQuant(scale, zero_point):
            return f" scale {scale:.9g} zero {zero_point}"
        case PerTokenDynamicQuant(dims):
            return f" dynamic over last {dims}"
        case PerChannelQuant():
            return f" scales{_scales(quantization)} along {quantization.channel_dim}"
        case PerChannelGroupQuant():
            return f" scales{_scales(quantization)} per {quantization.group_size} columns"
    return " quantized"


def _scales(quantization: PerChannelQuant | PerChannelGroupQuant) -> str:
    if quantization.scale_buffer_idx:
        return f" #{quantization.scale_buffer_idx}"
    return f" inline({len(quantization.scale or ())})"


def _describe_node(node: Node) -> str:
    content: Any = node.xnode_union
    if content is None:
        return "nothing"
    inputs: list[str] = []
    outputs: list[str] = []
    options: list[str] = []
    for field in fields(content):
        value = getattr(content, field.name)
        if field.name.endswith("_id"):
            place = "none" if value == NO_VALUE else f"%{value}"
            (outputs if field.name.startswith("output") else inputs).append(place)
        elif field.name == "num_dims":
            continue
        elif isinstance(value, tuple):
            options.append(f"{field.name}={list(value)}")
        elif value or field.name == "axis":
            text = f"{value:.9g}" if isinstance(value, float) else str(value)
            options.append(f"{field.name}={text}")
    while inputs and inputs[-1] == "none" and "Concat" in type(content).__name__:
        inputs.pop()
    limits = node.output_min_max
    if limits is not None:
        options.append(f"min={limits.output_min:.9g} max={limits.output_max:.9g}")
    text = f"{', '.join(outputs)} = {type(content).__name__}({', '.join(inputs)})"
    return " ".join([text, *options, f"handle={node.debug_handle}"])
