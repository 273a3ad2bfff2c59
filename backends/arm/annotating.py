"""What is observed beside what every CPU delegate computes with integers."""

import dataclasses

import torch
from torch import fx

from etlab.quantize.pt2e.config import QuantizationConfig
from etlab.quantize.pt2e.quantizer import IntegerQuantizer
from etlab.quantize.pt2e.rules import (
    ANNOTATION,
    SHARED,
    annotate_own_scale,
    is_quantizable,
    share_scale,
)

aten = torch.ops.aten

# Functions of one number: a table each.
FUNCTIONS = (
    aten.abs.default,
    aten.cos.default,
    aten.div.Scalar,
    aten.erf.default,
    aten.exp.default,
    aten.gelu.default,
    aten.hardsigmoid.default,
    aten.hardswish.default,
    aten.log.default,
    aten.neg.default,
    aten.pow.Tensor_Scalar,
    aten.reciprocal.default,
    aten.rsqrt.default,
    aten.sigmoid.default,
    aten.silu.default,
    aten.sin.default,
    aten.sqrt.default,
    aten.tanh.default,
)
_OVER_MANY = (
    aten.avg_pool2d.default,
    aten.sum.dim_IntList,
    aten.softmax.int,
    aten._softmax.default,
)
_TWO = (
    aten.bmm.default,
    aten.matmul.default,
    aten.maximum.default,
    aten.minimum.default,
    aten.mm.default,
)
_SCALARS = (aten.add.Tensor, aten.sub.Tensor, aten.mul.Tensor, aten.div.Tensor)


_MOVES = (*SHARED, aten.expand.default)


class WholeQuantizer(IntegerQuantizer):
    """Leaves as little as possible in floats."""

    def annotate(self, model: fx.GraphModule) -> fx.GraphModule:
        """Observe both sides of what only NPUs compute, then what all do, then what is left."""
        for node in self._configured(model):
            if _is_ours(node):
                annotate_own_scale(node, self._config(node))
        super().annotate(model)
        for node in self._configured(model):
            if node.target not in _MOVES:
                continue
            share_scale(node)
            if ANNOTATION not in node.meta and node.all_input_nodes[0].op == "placeholder":
                annotate_own_scale(node, self._config(node))
        return model

    def _configured(self, model: fx.GraphModule) -> list[fx.Node]:
        """The calls that are to be quantized and are not yet."""
        return [
            node
            for node in model.graph.nodes
            if node.op == "call_function"
            and is_quantizable(node)
            and ANNOTATION not in node.meta
            and (config := self.config_of(node)) is not None
            and config.output_activation is not None
        ]

    def _config(self, node: fx.Node) -> QuantizationConfig:
        config = self.config_of(node)
        assert config is not None
        return config


def with_wide_activations(config: QuantizationConfig) -> QuantizationConfig:
    """The same with activations of 16 bits, whose zero point is 0 as TOSA asks."""
    spec = dataclasses.replace(
        config.input_activation,
        dtype=torch.int16,
        quant_min=-(2**15) + 1,
        quant_max=2**15 - 1,
        qscheme=torch.per_tensor_symmetric,
    )
    return dataclasses.replace(config, input_activation=spec, output_activation=spec)


def _is_ours(node: fx.Node) -> bool:
    if node.target in _SCALARS:  # a tensor and a number
        return isinstance(node.args[1], int | float) and is_quantizable(node.args[0])
    if node.target not in (*FUNCTIONS, *_OVER_MANY, *_TWO):
        return False
    return all(map(is_quantizable, node.all_input_nodes)) and bool(node.all_input_nodes)
