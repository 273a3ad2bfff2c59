"""Weights that delegates take along, stored in .ptd files."""

import pytest
import torch
from torch import nn

from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.errors import EtlabError, InvalidArgumentError
from etlab.exir import to_edge_transform_and_lower
from etlab.exir.passes.external_constants_pass import delegate_external_constants_pass_unlifted
from etlab.numerics.official import OfficialRuntime, is_available
from etlab.runtime import Runtime
from etlab.testing import assert_same


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.layers = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU())
        self.head = nn.Linear(8 * 49, 5)

    def forward(self, x):
        return self.head(self.layers(x).flatten(1))


INPUTS = (torch.randn(1, 3, 9, 9, generator=torch.Generator().manual_seed(0)),)


def tagged_program(model, inputs, tag):
    """The documented way: tag the exported module, export it again."""
    module = torch.export.export(model, inputs).module()
    delegate_external_constants_pass_unlifted(module=module, gen_tag_fn=tag)
    return lowered(module, inputs)


def lowered(module, inputs):
    exported = torch.export.export(module, inputs)
    manager = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    return manager.to_executorch()


def run(program, inputs, data):
    loaded = Runtime.get().load_program(bytes(program.buffer), data_path=data)
    return loaded.load_method("forward").execute(list(inputs))


def test_weights_of_delegates_go_to_the_file_that_the_function_names():
    model = Model().eval()
    program = tagged_program(model, INPUTS, lambda node: "weights")
    (name,) = program._tensor_data
    assert name == "weights"
    inside = len(bytes(lowered(model, INPUTS).buffer))
    assert len(program._tensor_data["weights"]) > 4 * 5 * 8 * 49
    assert len(bytes(program.buffer)) < inside - 4 * 5 * 8 * 49
    (output,) = run(program, INPUTS, program._tensor_data["weights"])
    assert_same(output, model(*INPUTS).detach())


def test_a_layer_is_stored_where_its_first_constant_is():
    model = Model().eval()
    names = {"layers.0.weight": "eyes", "head.weight": "head"}
    program = tagged_program(model, INPUTS, lambda node: names.get(node.target))
    assert sorted(program._tensor_data) == ["eyes", "head"]
    (output,) = run(program, INPUTS, list(program._tensor_data.values()))
    assert_same(output, model(*INPUTS).detach())


def test_without_its_file_a_program_says_what_to_give():
    program = tagged_program(Model().eval(), INPUTS, lambda node: "weights")
    with pytest.raises(EtlabError, match=r"pass the \.ptd file"):
        run(program, INPUTS, None)


def test_the_model_itself_is_not_marked():
    model = Model().eval()
    tagged_program(model, INPUTS, lambda node: "weights")
    assert not lowered(model, INPUTS)._tensor_data


def test_tags_in_the_meta_of_an_exported_program_count_too():
    model = Model().eval()
    exported = torch.export.export(model, INPUTS)
    for node in exported.graph.nodes:
        if node.name == "p_head_weight":
            node.meta["custom"] = {"delegate_constant_tag": "head"}
    manager = to_edge_transform_and_lower(exported, partitioner=[XnnpackPartitioner()])
    program = manager.to_executorch()
    assert sorted(program._tensor_data) == ["head"]
    (output,) = run(program, INPUTS, program._tensor_data["head"])
    assert_same(output, model(*INPUTS).detach())


def test_tied_weights_are_stored_once():
    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.first = nn.Linear(32, 32, bias=False)
            self.second = nn.Linear(32, 32, bias=False)
            self.second.weight = self.first.weight

        def forward(self, x):
            return self.second(self.first(x).relu())

    torch.manual_seed(0)
    model, inputs = Tied().eval(), (torch.ones(2, 32),)
    program = tagged_program(model, inputs, lambda node: "weights")
    assert len(program._tensor_data["weights"]) < 2 * 4 * 32 * 32
    (output,) = run(program, inputs, program._tensor_data["weights"])
    assert_same(output, model(*inputs).detach())


def test_quantized_weights_and_their_scales_go_along():
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    from etlab.backends.xnnpack import XNNPACKQuantizer, get_symmetric_quantization_config

    model = Model().eval()
    quantizer = XNNPACKQuantizer().set_global(
        get_symmetric_quantization_config(is_per_channel=True)
    )
    prepared = prepare_pt2e(torch.export.export(model, INPUTS).module(), quantizer)
    prepared(*INPUTS)
    converted = convert_pt2e(prepared)
    expected = run(lowered(converted, INPUTS), INPUTS, None)
    program = tagged_program(converted, INPUTS, lambda node: "weights")
    assert len(program._tensor_data["weights"]) > 5 * 8 * 49
    assert_same(run(program, INPUTS, program._tensor_data["weights"])[0], expected[0])


def test_names_that_are_none_are_refused():
    module = torch.export.export(Model().eval(), INPUTS).module()
    with pytest.raises(InvalidArgumentError, match="gen_tag_fn gave 7"):
        delegate_external_constants_pass_unlifted(module, gen_tag_fn=lambda node: 7)


@pytest.mark.skipif(not is_available(), reason="executorch is not installed")
def test_official_runtime_reads_the_file():
    model = Model().eval()
    program = tagged_program(model, INPUTS, lambda node: "weights")
    data = program._tensor_data["weights"]
    child = OfficialRuntime(bytes(program.buffer), tensor_data=data)
    try:
        (output,) = child.execute(list(INPUTS))
    finally:
        child.close()
    torch.testing.assert_close(output, model(*INPUTS).detach(), rtol=1e-4, atol=1e-5)
