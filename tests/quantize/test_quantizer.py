"""The settings of the quantizer say which parts of a model are quantized, and how."""

import pytest
import torch
from torch import nn

from etlab.backends.xnnpack import XNNPACKQuantizer, get_symmetric_quantization_config
from etlab.quantize.base import quiet_imports
from etlab.quantize.pt2e.rules import ANNOTATION

with quiet_imports():
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
    from torchao.quantization.pt2e.quantizer import ComposableQuantizer, Quantizer

aten = torch.ops.aten
INT8 = get_symmetric_quantization_config(is_per_channel=True)
INT4 = get_symmetric_quantization_config(weight_qmin=-8, weight_qmax=7)


class Blocks(nn.Module):
    def __init__(self):
        super().__init__()
        self.head = nn.Linear(4, 4)
        self.blocks = nn.ModuleList([nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(2)])

    def forward(self, x):
        return self.blocks[1](self.blocks[0](self.head(x))) + self.head(x)


def _annotated(quantizer):
    """The weights' bits of every linear layer, and the annotated operators beside those."""
    model = torch.export.export(Blocks().eval(), (torch.ones(2, 4),), strict=False).module()
    quantizer.annotate(quantizer.transform_for_annotation(model))
    bits, others = [], set()
    for node in model.graph.nodes:
        annotation = node.meta.get(ANNOTATION)
        if annotation is None:
            bits += [None] if node.target is aten.linear.default else []
        elif node.target is aten.linear.default:
            bits.append({127: 8, 7: 4}[annotation.input_qspec_map[node.args[1]].quant_max])
        else:
            others.add(node.target)
    return bits, others


ALL = {aten.tanh.default, aten.add.Tensor}


@pytest.mark.parametrize(
    ("settings", "bits", "others"),
    [
        (lambda q: q.set_global(INT8), [8, 8, 8, 8], ALL),
        (lambda q: q.set_module_name("blocks.1", INT4), [None, None, 4, None], {aten.tanh.default}),
        (lambda q: q.set_global(INT8).set_module_name("blocks.1.0", None), [8, 8, None, 8], ALL),
        (lambda q: q.set_module_name("blocks.0", INT8).set_module_name("blocks.0.0", INT4),
         [None, 4, None, None], {aten.tanh.default}),
        (lambda q: q.set_global(INT8).set_module_name("head", INT4), [4, 8, 8, 4], ALL),
        (lambda q: q.set_module_type(nn.Linear, INT8), [8, 8, 8, 8], set()),
        (lambda q: q.set_module_type(nn.Tanh, INT8), [None] * 4, {aten.tanh.default}),
        (lambda q: q.set_global(INT8).set_module_type(nn.Sequential, None),
         [8, None, None, 8], {aten.add.Tensor}),
        (lambda q: q.set_operator_type(aten.linear, INT8), [8, 8, 8, 8], set()),
        (lambda q: q.set_operator_type(aten.linear.default, INT8), [8, 8, 8, 8], set()),
        (lambda q: q.set_global(INT8).set_operator_type(aten.tanh, None),
         [8, 8, 8, 8], {aten.add.Tensor}),
        (lambda q: q.set_global(INT8).keep_float(["head", "aten.tanh", "aten.add.Tensor"]),
         [None, 8, 8, None], set()),
        (lambda q: q.set_global(INT8).set_filter_function(lambda n: "linear" in n.name),
         [8, 8, 8, 8], set()),
    ],
)  # fmt: skip
def test_the_most_special_setting_decides(settings, bits, others):
    assert _annotated(settings(XNNPACKQuantizer())) == (bits, others)


def test_another_quantizers_annotations_are_kept():
    class Float(Quantizer):
        def annotate(self, model):
            XNNPACKQuantizer().set_module_name("head", INT4).annotate(model)
            return model

        def validate(self, model):
            pass

    model = torch.export.export(Blocks().eval(), (torch.ones(2, 4),), strict=False).module()
    both = ComposableQuantizer([Float(), XNNPACKQuantizer().set_global(INT8)])
    prepared = prepare_pt2e(model, both)
    prepared(torch.linspace(-1, 1, 8).reshape(2, 4))
    converted = convert_pt2e(prepared)
    lows = [
        node.args[3]
        for node in converted.graph.nodes
        if "dequantize" in str(node.target) and node.args[0].op == "get_attr"
    ]
    lows += [
        node.args[4]
        for node in converted.graph.nodes
        if "dequantize_per_channel" in str(node.target)
    ]
    assert -8 in lows
    assert -127 in lows
