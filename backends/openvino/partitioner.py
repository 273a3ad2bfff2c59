"""Which nodes OpenVINO takes."""

import functools
from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import fx
from torch._ops import OpOverload
from torch.export import ExportedProgram

from etlab.backends.openvino import package
from etlab.backends.openvino.element_types import TYPES
from etlab.backends.openvino.quantized import is_grid, may_read_grid
from etlab.errors import BackendMissingError
from etlab.exir.partition.compile_spec import CompileSpec
from etlab.exir.partition.helpers import names_of, partition_by_support, why_not_tensors
from etlab.exir.partition.partitioner import DelegationSpec, Partitioner, PartitionResult

BACKEND_ID = "OpenvinoBackend"

# What the front end translates besides those that it lists for `torch.compile`.
_ALSO = frozenset(
    f"aten.{name}"
    for name in (
        "linear.default",
        "scaled_dot_product_attention.default",
        "squeeze_copy.dim",
        "t_copy.default",
        "transpose_copy.int",
        "clamp.Tensor",
        "bitwise_or.Scalar",
        "logical_and.default",
        "logical_or.default",
    )
)


class OpenvinoPartitioner(Partitioner):
    """Gives OpenVINO all that its PyTorch front end knows, in groups as large as possible.

    Args:
        compile_spec: options, as ExecuTorch's partitioner takes them: `device`, and what OpenVINO's
            `compile_model` takes.
        op_types_to_skip: operators to leave, as names with or without namespace and overload.
        op_names_to_skip: nodes to leave, by name.
        device: "CPU", "GPU", "NPU" or what else OpenVINO has on the machine that runs the program.
        precision: of inner results: "f32"; "bf16" and "f16" are faster where the device has them.
        min_nodes: leave smaller groups to others.
    """

    needs = package.NEEDED

    def __init__(
        self,
        compile_spec: Sequence[CompileSpec] = (),
        op_types_to_skip: Collection[str] = (),
        op_names_to_skip: Collection[str] = (),
        *,
        device: str = "CPU",
        precision: str = "f32",
        min_nodes: int = 1,
    ) -> None:
        own = {"device": device, "INFERENCE_PRECISION_HINT": precision}
        given = {spec.key: spec.value for spec in compile_spec}
        self._specs = [
            CompileSpec(key, value)
            for key, value in ({key: text.encode() for key, text in own.items()} | given).items()
        ]
        self.op_types_to_skip = frozenset(map(str, op_types_to_skip or ()))
        self.op_names_to_skip = frozenset(op_names_to_skip or ())
        self.min_nodes = min_nodes

    def partition(self, exported_program: ExportedProgram) -> PartitionResult:
        """Tag what OpenVINO takes.

        Raises:
            BackendMissingError: the package is not installed.
        """
        known_operators()
        return partition_by_support(
            exported_program,
            DelegationSpec(BACKEND_ID, self._specs),
            self.why_not,
            prefix="openvino_",
            min_nodes=self.min_nodes,
        )

    def why_not(self, node: fx.Node) -> str | None:
        """Why a node is left; None when it is taken."""
        if reason := why_not_tensors(node):
            return reason
        target: Any = node.target
        if str(target) not in known_operators():
            return f"OpenVINO's PyTorch front end does not know {target}"
        if self.op_types_to_skip & names_of(target) or node.name in self.op_names_to_skip:
            return f"{target} was to be skipped"
        if not may_read_grid(node) and any(map(is_grid, node.all_input_nodes)):
            return f"{target} computes with quantized integers: dequantize before it"
        for one in [node, *node.all_input_nodes]:
            held = one.meta["val"]
            for value in held if isinstance(held, tuple | list) else (held,):
                if value.dtype not in TYPES:
                    return f"OpenVINO has no {value.dtype} tensors: convert to float32"
                if 0 in value.shape:
                    return "a tensor without elements: nothing to compute"
        return None

    def ops_to_not_decompose(
        self, ep: ExportedProgram
    ) -> tuple[list[OpOverload], Callable[[fx.Node], bool] | None]:
        """Operators that OpenVINO has kernels for as they are."""
        aten = torch.ops.aten
        return [
            aten.pixel_shuffle.default,
            aten.upsample_bilinear2d.vec,
            aten.upsample_nearest2d.vec,
        ], None


@functools.cache
def known_operators() -> frozenset[str]:
    """The operators that the installed OpenVINO translates, "aten.add.Tensor".

    Raises:
        BackendMissingError: it is not installed, or does not say.
    """
    if not package.is_installed():
        raise BackendMissingError(
            "partitioner 'openvino' needs the package openvino: pip install 'etlab[openvino]'"
        )
    try:
        from openvino.frontend.pytorch.torchdynamo.op_support import OperatorSupport

        listed = OperatorSupport([])._support_dict  # it has no public name
    except (ImportError, AttributeError) as error:
        raise BackendMissingError(
            "partitioner 'openvino': the installed openvino does not say which operators its"
            f" PyTorch front end knows ({error}); install a release that does, such as 2026.4"
        ) from error
    return frozenset(name.removeprefix("torch.ops.") for name in listed) | _ALSO
