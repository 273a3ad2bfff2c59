"""A program that takes and gives integers where a quantized model takes and gives floats.

Before: `x (float) -> quantize -> ... -> dequantize -> y (float)`
After: `x (int8) -> ... -> y (int8)`, and constant methods with the scales, as `input0_scale`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from etlab.errors import InvalidArgumentError
from etlab.exir.edge import EdgeGraph
from etlab.exir.emit.scalar_type import SCALAR_TYPES
from etlab.exir.exported import EdgeProgramView
from etlab.exir.graph import remove_dead_code, rename_outputs
from etlab.exir.io_quantization import QuantizationArguments, quantize_input, quantize_output
from etlab.exir.passes.base import Pass, PassResult

if TYPE_CHECKING:
    from etlab.exir.edge_program import EdgeProgramManager

__all__ = [
    "QuantizeInputs",
    "QuantizeOutputs",
    "extract_io_quant_params",
    "get_config_method_name",
    "quantize_input",
    "quantize_output",
]

_KEYS = ("scale", "zp", "quant_min", "quant_max", "dtype")


def get_config_method_name(
    prefix: str | None = "forward", arg_type: str = "input", index: int = 0, key: str = "scale"
) -> str:
    """The name of the constant method that answers one of the numbers.

    Args:
        prefix: usually the method's name; None for no prefix.
        arg_type: "input" or "output".
        index: of the input or output.
        key: "scale", "zp", "quant_min", "quant_max" or "dtype".

    Raises:
        InvalidArgumentError: another kind, index or key.

    >>> get_config_method_name("forward", "output", 1, "zp")
    'forward_output1_zp'
    """
    if arg_type not in ("input", "output") or index < 0 or key not in _KEYS:
        raise InvalidArgumentError(
            f"get_config_method_name: expected 'input' or 'output', an index from 0 and one of"
            f" {', '.join(_KEYS)}, got {arg_type!r}, {index}, {key!r}"
        )
    return f"{prefix}_{arg_type}{index}_{key}" if prefix else f"{arg_type}{index}_{key}"


class QuantizeInputs(Pass):
    """Let a program take integers, and answer their scales by constant methods.

    Example::

        edge = edge.transform([QuantizeInputs(edge, [0]), QuantizeOutputs(edge, [0])])

    Args:
        edge_program_manager: accepted for ExecuTorch's sake: the pass edits what `transform` hands
            to it, and the manager that `transform` returns has the constant methods.
        quantized_inputs_idx: which user inputs; or by index `{"scale", "zp", "dtype"}` of the
            integers that will be given, where these are not those that the model quantizes to
            (they are converted), or None.
        method_name: prefix of the constant methods' names; programs of several methods need it.
    """

    def __init__(
        self,
        edge_program_manager: "EdgeProgramManager | None",
        quantized_inputs_idx: Mapping[int, Mapping[str, Any] | None] | Sequence[int],
        method_name: str | None = None,
    ) -> None:
        self._wanted: dict[int, Mapping[str, Any] | None] = (
            dict(quantized_inputs_idx)
            if isinstance(quantized_inputs_idx, Mapping)
            else dict.fromkeys(quantized_inputs_idx)
        )
        self._prefix = method_name
        self.quant_args: dict[int, QuantizationArguments] = {}

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        view: Any = EdgeProgramView(graph)
        for index, given in self._wanted.items():
            arguments = quantize_input(view, index, given)
            self.quant_args[index] = arguments
            graph.constant_methods.update(_answers(self._prefix, "input", index, arguments))
        if self._wanted:
            graph.example_inputs = None  # were floats
        return PassResult(graph, changed=bool(self._wanted))


class QuantizeOutputs(Pass):
    """Let a program give integers, and answer their scales by constant methods.

    Args:
        edge_program_manager: as `QuantizeInputs` takes it.
        quantized_outputs_idx_list: which user outputs.
        method_name: prefix of the constant methods' names; programs of several methods need it.
    """

    def __init__(
        self,
        edge_program_manager: "EdgeProgramManager | None",
        quantized_outputs_idx_list: Sequence[int],
        method_name: str | None = None,
    ) -> None:
        self._wanted = list(quantized_outputs_idx_list)
        self._prefix = method_name
        self.dequant_args: dict[int, QuantizationArguments] = {}

    def run(self, graph: EdgeGraph) -> PassResult:
        """Edit `graph`."""
        view: Any = EdgeProgramView(graph)
        for index in self._wanted:
            arguments = quantize_output(view, index)
            self.dequant_args[index] = arguments
            graph.constant_methods.update(_answers(self._prefix, "output", index, arguments))
        rename_outputs(graph)
        remove_dead_code(graph)
        return PassResult(graph, changed=bool(self._wanted))


def extract_io_quant_params(
    edge_prog: "EdgeProgramManager",
    *,
    input_idxs: Sequence[int] = (0,),
    output_idxs: Sequence[int] = (0,),
) -> dict[str, dict[str, dict[str, Any]]]:
    """The scales of inputs and outputs: `{"inputs": {name: {"scale": ...}}, "outputs": ...}`.

    The manager stays as it is. Names are those of the nodes that take, or give, the integers.

    Args:
        edge_prog: with quantized inputs and outputs.
        input_idxs: of user inputs.
        output_idxs: of user outputs.

    Raises:
        InvalidArgumentError: one of them is not quantized.
    """
    inputs, outputs = QuantizeInputs(None, input_idxs), QuantizeOutputs(None, output_idxs)
    edge = edge_prog.transform([inputs, outputs]).edge_graph()
    signature = EdgeProgramView(edge).graph_signature
    names = {"inputs": list(signature.user_inputs), "outputs": list(signature.user_outputs)}
    found = {"inputs": inputs.quant_args, "outputs": outputs.dequant_args}
    return {
        side: {
            str(names[side][index]): {
                "scale": arguments.scale,
                "zero_point": arguments.zero_point,
                "quant_min": arguments.quant_min,
                "quant_max": arguments.quant_max,
                "dtype": int(SCALAR_TYPES[arguments.dtype]),
            }
            for index, arguments in by_index.items()
        }
        for side, by_index in found.items()
    }


def _answers(
    prefix: str | None, kind: str, index: int, arguments: QuantizationArguments
) -> Iterator[tuple[str, float | int]]:
    values = (*arguments[:-1], int(SCALAR_TYPES[arguments.dtype]))
    for key, value in zip(_KEYS, values, strict=True):
        yield get_config_method_name(prefix, kind, index, key), value
