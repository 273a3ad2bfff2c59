"""Integers as inputs and outputs of a program: what `passes/quantize_io_pass.py` does to graphs."""

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import fx

from etlab.errors import InvalidArgumentError
from etlab.exir.fakes import fake
from etlab.exir.graph import call_before

if TYPE_CHECKING:
    from torch.export import ExportedProgram

# By name: the operators exist once torchao is imported.
_QUANTIZE = "quantized_decomposed.quantize_per_tensor.default"
_DEQUANTIZE = "quantized_decomposed.dequantize_per_tensor.default"


class QuantizationArguments(NamedTuple):
    """How floats and integers belong together: those of `quantize_per_tensor`."""

    scale: float
    zero_point: int
    quant_min: int
    quant_max: int
    dtype: torch.dtype


def quantize_input(
    exported_program: "ExportedProgram", input_index: int, qparams: Mapping[str, Any] | None = None
) -> QuantizationArguments:
    """Let a program take integers for one user input, in place.

    Args:
        exported_program: whose graph quantizes the input, and uses it for nothing else.
        input_index: of the user input.
        qparams: "scale", "zp" and "dtype" of what will be given, if not what the graph quantizes
            to; it is then converted.

    Returns:
        How the integers are to be made.

    Raises:
        InvalidArgumentError: there is no such input, or it is not only quantized; or `qparams` are
            incomplete, or of another kind of number.
    """
    inputs = exported_program.graph_signature.user_inputs
    if not 0 <= input_index < len(inputs):
        raise InvalidArgumentError(
            f"quantize_input: there is no user input {input_index}; the program has {len(inputs)}"
        )
    graph = exported_program.graph
    nodes = [n for n in graph.nodes if n.op == "placeholder" and n.name == inputs[input_index]]
    quantize = _only_quantize(nodes[0] if nodes else None, input_index)
    source, own = nodes[0], _arguments(quantize)
    if qparams is None or _is_same(own, given := _completed(qparams, input_index)):
        source.meta["val"] = quantize.meta["val"]
        quantize.replace_all_uses_with(source)
        graph.erase_node(quantize)
        return own
    val = source.meta["val"]
    source.meta["val"] = fake(val.fake_mode, val.shape, given.dtype)
    dequantize = torch.ops.quantized_decomposed.dequantize_per_tensor.default
    floats = call_before(quantize, dequantize, (source, *given), val=val)
    quantize.replace_input_with(source, floats)
    return given


def quantize_output(
    exported_program: "ExportedProgram", output_index: int
) -> QuantizationArguments:
    """Let a program give integers for one user output, in place.

    Args:
        exported_program: whose graph dequantizes the output as its last step.
        output_index: of the user output.

    Returns:
        How floats are made of the integers.

    Raises:
        InvalidArgumentError: there is no such output, or it is not dequantized.
    """
    specs = exported_program.graph_signature.output_specs
    places = [place for place, spec in enumerate(specs) if spec.kind.name == "USER_OUTPUT"]
    if not 0 <= output_index < len(places):
        raise InvalidArgumentError(
            f"quantize_output: there is no user output {output_index}; the program has"
            f" {len(places)}"
        )
    output = exported_program.graph.output_node()
    given: Any = output.args[0]
    results = list(given)
    dequantize = results[places[output_index]]
    target = getattr(dequantize, "target", dequantize)
    if str(target) != _DEQUANTIZE:
        raise InvalidArgumentError(
            f"quantize_output: output {output_index} is not dequantized per tensor but comes from"
            f" {target}{_inside(target)}"
        )
    integers: Any = dequantize.args[0]
    results[places[output_index]] = integers
    output.args = (tuple(results),)
    if not dequantize.users:
        exported_program.graph.erase_node(dequantize)
    return _arguments(dequantize)


def _only_quantize(source: fx.Node | None, index: int) -> fx.Node:
    """The one call that uses an input, which must be its quantization."""
    users = list(source.users) if source is not None else []
    target = users[0].target if users else None
    if len(users) == 1 and str(target) == _QUANTIZE:
        return users[0]
    used = ", ".join(str(user.target) for user in users) or "nothing"
    raise InvalidArgumentError(
        f"quantize_input: input {index} must be used by one quantize_per_tensor and by nothing"
        f" else; it is used by {used}{_inside(target)}"
    )


def _inside(target: Any) -> str:
    """What helps where a delegate took the quantization along."""
    if "executorch_call_delegate" not in str(target):
        return ""
    return "; it quantizes by itself: transform the program before to_backend"


def _arguments(call: fx.Node) -> QuantizationArguments:
    """Of a call of `quantize_per_tensor` or `dequantize_per_tensor`."""
    _, scale, zero_point, quant_min, quant_max, dtype = call.args[:6]
    values: Any = (scale, zero_point, quant_min, quant_max, dtype)
    return QuantizationArguments(*values)


def _completed(qparams: Mapping[str, Any], index: int) -> QuantizationArguments:
    """Scale, zero point and dtype with the limits of the dtype."""
    missing = [key for key in ("scale", "zp", "dtype") if key not in qparams]
    dtype = qparams.get("dtype")
    is_integer = isinstance(dtype, torch.dtype) and not (
        dtype.is_floating_point or dtype.is_complex or dtype is torch.bool
    )
    if missing or not isinstance(dtype, torch.dtype) or not is_integer or dtype.itemsize > 2:
        raise InvalidArgumentError(
            f"quantize_input: input {index} needs its scale, zp and dtype, one of 8 or 16 bits, to"
            f" be converted; got {dict(qparams)}"
        )
    limits = torch.iinfo(dtype)
    scale, zero_point = float(qparams["scale"]), int(qparams["zp"])
    return QuantizationArguments(scale, zero_point, int(limits.min), int(limits.max), dtype)


def _is_same(own: QuantizationArguments, given: QuantizationArguments) -> bool:
    return (own.dtype, own.zero_point) == (given.dtype, given.zero_point) and math.isclose(
        own.scale, given.scale, rel_tol=1e-5
    )
