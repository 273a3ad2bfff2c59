"""A quantizer of torchao's contract: says what is observed, for whatever prepares the model."""

from collections.abc import Callable, Iterable
from typing import Any, Self

import torch
from torch import fx

from etlab.errors import NotFoundError
from etlab.quantize.base import quiet_imports
from etlab.quantize.pt2e import rules
from etlab.quantize.pt2e.cleaning import clean
from etlab.quantize.pt2e.config import QuantizationConfig

with quiet_imports():
    from torchao.quantization.pt2e.quantizer import Quantizer

Operator = torch._ops.OpOverload | torch._ops.OpOverloadPacket
NodeFilter = Callable[[fx.Node], bool]


class IntegerQuantizer(Quantizer):  # type: ignore[misc]
    """Annotates what is computed with 8-bit integers; everything else stays as it is.

    The most special setting decides about a node: the longest name of a module around it, then a
    module's type, then the operator, then the global one. A setting of None keeps floats.
    """

    def __init__(self) -> None:
        super().__init__()
        self.global_config: QuantizationConfig | None = None
        self.operator_type_config: dict[Operator, QuantizationConfig | None] = {}
        self.module_type_config: dict[Any, QuantizationConfig | None] = {}
        self.module_name_config: dict[str, QuantizationConfig | None] = {}
        self.filter_fn: NodeFilter | None = None

    def set_global(self, quantization_config: QuantizationConfig | None) -> Self:
        """For every node that nothing else is said of."""
        self.global_config = quantization_config
        return self

    def set_operator_type(
        self, operator_type: Operator, quantization_config: QuantizationConfig | None
    ) -> Self:
        """For an operator: `torch.ops.aten.linear`, or one overload of it."""
        self.operator_type_config[operator_type] = quantization_config
        return self

    def set_module_type(
        self, module_type: Any, quantization_config: QuantizationConfig | None
    ) -> Self:
        """For what modules of a class compute, and the modules in them."""
        self.module_type_config[module_type] = quantization_config
        return self

    def set_module_name(
        self, module_name: str, quantization_config: QuantizationConfig | None
    ) -> Self:
        """For what one module computes, by its dotted name, and the modules in it."""
        self.module_name_config[module_name] = quantization_config
        return self

    def set_filter_function(self, filter_fn: NodeFilter) -> Self:
        """Only nodes for which the function returns True are quantized."""
        self.filter_fn = filter_fn
        return self

    def keep_float(self, names: Iterable[str]) -> Self:
        """Leave modules as they are, by their dotted names, and operators, as `aten.add`.

        Raises:
            NotFoundError: there is no such operator.
        """
        for name in names:
            if not name.startswith("aten."):
                self.set_module_name(name, None)
                continue
            found: Any = torch.ops.aten
            for part in name.split(".")[1:]:
                found = getattr(found, part, None)
            if found is None:
                raise NotFoundError(f"keep_float: there is no operator {name}")
            self.set_operator_type(found, None)
        return self

    def config_of(self, node: fx.Node) -> QuantizationConfig | None:
        """The configuration of a node; None leaves it in float."""
        if self.filter_fn is not None and not self.filter_fn(node):
            return None
        names, types = modules_around(node)
        for name in sorted(self.module_name_config, key=len, reverse=True):
            if name in names:
                return self.module_name_config[name]
        for kind, config in self.module_type_config.items():
            if f"{kind.__module__}.{kind.__qualname__}" in types:
                return config
        for operator, config in self.operator_type_config.items():
            if operator in (node.target, getattr(node.target, "overloadpacket", None)):
                return config
        return self.global_config

    def transform_for_annotation(self, model: fx.GraphModule) -> fx.GraphModule:
        """Bring the graph into the form that the rules know."""

        def has_fixed_scales(node: fx.Node) -> bool:
            config = self.config_of(node)
            return config is not None and config.output_activation is not None

        return clean(model, has_fixed_scales)

    def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
        """Say where observers go; nodes that another quantizer annotated keep what they have."""
        rules.annotate(model.graph, self.config_of)
        return model

    def validate(self, model: fx.GraphModule) -> None:
        """Nothing to refuse: what no rule knows stays in float."""


def modules_around(node: fx.Node) -> tuple[list[str], list[str]]:
    """Names and types of the modules whose code made a node, outermost first.

    A module that is called a second time has the same name there.
    """
    stack: Any = node.meta.get("nn_module_stack", {}).values()
    names = [str(name).removeprefix("L['self'].").split("@")[0] for name, _ in stack]
    types = [
        f"{kind.__module__}.{kind.__qualname__}" if isinstance(kind, type) else str(kind)
        for _, kind in stack
    ]
    return names, types
