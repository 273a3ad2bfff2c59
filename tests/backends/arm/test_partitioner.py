"""What goes to TOSA, why the rest stays, and who takes that."""

import pytest
import torch
from torch import nn
from torch.export import Dim
from tosa_checks import delegates, lowered_run, operators, waves

import etlab
from etlab.backends.arm.tosa import TosaCompileSpec, TOSAPartitioner
from etlab.errors import LoweringError, NotSupportedError


class Mixed(nn.Module):
    """Layers around a running sum, which integers do not have here."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.first, self.last = nn.Linear(5, 7), nn.Linear(7, 3)

    def forward(self, x):
        return self.last(torch.cumsum(self.first(x).relu(), 1))


def reasons(run):
    return {row.node: f"{row.reason}: {row.help}" for row in run.delegation().rejected}


def backends(run):
    return [part.backend_id for part in delegates(run)]


def test_integers_cross_every_border():
    run = lowered_run(Mixed(), waves(4, 5))
    assert backends(run) == ["TOSABackend"] * 2
    for part in delegates(run):
        placeholders = [n for n in part.original.graph.nodes if n.op == "placeholder"]
        inputs = {spec.arg.name for spec in part.original.inputs if spec.target is None}
        crossing = [n.meta["val"].dtype for n in placeholders if n.name in inputs]
        crossing += [n.meta["val"].dtype for n in part.original.graph.output_node().args[0]]
        assert set(crossing) == {torch.int8}


def test_what_stays_says_why_and_what_would_help():
    found = reasons(lowered_run(Mixed(), waves(4, 5)))
    assert "no lowering of aten.cumsum" in found["cumsum_default"]
    plain = etlab.export(Mixed().eval(), waves(4, 5), partitioner="tosa")
    assert not delegates(plain)
    assert "8-bit integers: quantize it (int8-arm)" in reasons(plain)["linear_default"]


def test_another_partitioner_takes_the_rest_and_the_border_has_its_cost():
    run = etlab.export(
        Mixed().eval(),
        waves(4, 5),
        quantizer="int8-arm",
        calibration=[(waves(4, 5),)],
        partitioner=[TOSAPartitioner(operators=["linear"]), "reference"],
    )
    assert backends(run).count("TOSABackend") == 2
    assert "ReferenceBackend" in backends(run)
    report = run.delegation()
    assert report.coverage == 1.0
    assert sum(border.nbytes for border in report.borders) >= 2 * 4 * 7


def test_the_npu_comes_first_and_xnnpack_takes_what_it_leaves():
    class Two(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layer, self.other = nn.Linear(5, 7), nn.Linear(7, 3)

        def forward(self, x):
            return self.other(torch.ceil(self.layer(x) * 9))

    x = waves(4, 5)
    run = etlab.export(
        Two().eval(), x, quantizer="int8-arm", calibration=[(x,)], partitioner=["tosa", "xnnpack"]
    )
    assert set(backends(run)) == {"TOSABackend", "XnnpackBackend"}
    alone = etlab.export(Two().eval(), x, quantizer="int8-arm", calibration=[(x,)])
    assert len(run.delegation().borders) > len(alone.delegation().borders)


def test_only_the_operators_asked_for_are_taken():
    x = waves(1, 6, 9, 7)
    module = nn.Sequential(nn.Conv2d(6, 4, 3), nn.Sigmoid(), nn.Conv2d(4, 3, 3))
    run = etlab.export(
        module.eval(),
        x,
        quantizer="int8-arm",
        calibration=[(x,)],
        partitioner=TOSAPartitioner(operators=["convolution"]),
    )
    assert [operators(part.processed_bytes).count("CONV2D") for part in delegates(run)] == [1, 1]
    assert "name it in operators" in reasons(run)["sigmoid_default"]


def test_pictures_are_transposed_once_on_their_way_in():
    module = nn.Sequential(
        nn.Conv2d(6, 4, 3), nn.ReLU6(), nn.Conv2d(4, 4, 3, groups=4), nn.MaxPool2d(2)
    )
    (part,) = delegates(lowered_run(module, waves(1, 6, 10, 8)))
    assert operators(part.processed_bytes) == [
        "TRANSPOSE", "CONV2D", "RESCALE", "DEPTHWISE_CONV2D", "RESCALE", "MAX_POOL2D", "TRANSPOSE"
    ]  # fmt: skip


def test_operators_that_are_taken_apart_after_all_keep_their_reason():
    x = waves(4, 5)
    run = etlab.export(nn.Hardswish(), x, partitioner="tosa")
    found = reasons(run)
    assert len(found) > 1
    assert all("computes with floats" in text for text in found.values()), found


def test_zeros_around_a_picture_come_along_with_its_convolution():
    module = nn.Sequential(
        nn.Conv2d(6, 4, 1), nn.ZeroPad2d((0, 1, 0, 1)), nn.Conv2d(4, 4, 3, 2, groups=4)
    )
    (part,) = delegates(lowered_run(module, waves(1, 6, 8, 8)))
    assert operators(part.processed_bytes) == [
        "TRANSPOSE", "CONV2D", "RESCALE", "DEPTHWISE_CONV2D", "RESCALE", "TRANSPOSE"
    ]  # fmt: skip


def test_sizes_that_vary_are_refused_with_the_way_out():
    x = waves(4, 5)
    run = lowered_run(nn.Linear(5, 3), x, dynamic_shapes=({0: Dim("n", max=9)},))
    assert not delegates(run)
    assert "size that varies" in reasons(run)["linear_default"]


def test_scales_that_leave_32_bits_are_refused():
    module = nn.Linear(2, 3, bias=False)
    module.weight.data = torch.tensor([[1e6, -1e6]] * 3)  # large terms of small sums
    run = lowered_run(module, waves(4, 1).expand(4, 2).contiguous())
    assert not delegates(run)
    assert "do not fit into 32 bits" in reasons(run)["linear_default"]


def test_shared_results_do_not_keep_their_readers_apart():
    class Shared(nn.Module):
        def __init__(self):
            super().__init__()
            torch.manual_seed(0)
            self.layers = nn.ModuleList(nn.Linear(5, 5) for _ in range(3))

        def forward(self, x):
            y = self.layers[0](x)
            return self.layers[1](y) + self.layers[2](y), y

    run = lowered_run(Shared(), waves(4, 5))
    assert backends(run) == ["TOSABackend"]
    assert all("quantize_per_tensor" in name for name in reasons(run))


def test_other_specifications_are_refused():
    with pytest.raises(NotSupportedError, match=r"TOSA 1\.0 with integers"):
        TosaCompileSpec("TOSA-1.0+FP")
    assert TosaCompileSpec("TOSA-1.0+INT+int16").to_list()[0].value == b"TOSA-1.0+INT+int16"


def test_a_graph_that_no_partitioner_chose_is_refused_by_name():
    from etlab.exir import to_edge
    from etlab.exir.backend.backend_api import to_backend

    exported = torch.export.export(nn.Softmax(-1), (waves(4, 5),))
    with pytest.raises(LoweringError, match=r"are of integers, input 'input_?1?' is torch.float32"):
        to_backend("TOSABackend", to_edge(exported).exported_program(), [])
