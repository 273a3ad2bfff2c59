import pytest
import torch
from exir.lowering import Function, seeded
from torch import nn

from etlab.errors import InvalidArgumentError
from etlab.exir import EdgeCompileConfig, to_edge
from etlab.exir.passes.pipeline import EDGE_PASSES, edge_passes
from etlab.testing_graphs import export_module

NAMES = [one.name for one in EDGE_PASSES]


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.convolution, self.norm = nn.Conv1d(2, 3, 3), nn.BatchNorm1d(3)

    def forward(self, x):
        scale = torch.full((7,), 2.0).exp()
        y = self.norm(self.convolution(x)).unsqueeze(0).squeeze(0).clone()
        return y.exp() * y.exp() * scale[:5]


def _edge(*skipped):
    config = EdgeCompileConfig(skip_passes=skipped)
    return to_edge(export_module(Net(), (seeded(1, 2, 7),)), compile_config=config)


def test_records_say_what_every_pass_changed():
    records = {record.name: record for record in _edge().pass_records()}
    assert list(records) == NAMES
    assert records["FoldBatchNorm"].removed["_native_batch_norm_legit_no_training.default"] == 1
    assert records["MergeCommon"].removed == {"exp.default": 1}
    assert records["FoldConstants"].added == {"tensors": 1}
    assert all(record.changed for record in records.values())


@pytest.mark.parametrize("name", NAMES)
def test_a_pass_is_left_out_by_name(name):
    assert [record.name for record in _edge(name).pass_records()] == [
        other for other in NAMES if other != name
    ]


def test_a_name_of_no_pass_is_refused():
    with pytest.raises(InvalidArgumentError, match="FoldBatchNorm"):
        _edge("FoldBatchNorms")


def test_records_go_on_to_the_program():
    manager = to_edge(export_module(Function(torch.exp), (seeded(3),)))
    names = [record.name for record in manager.to_executorch().pass_records()]
    assert names[: len(NAMES)] == NAMES
    assert "ExpandAttention" in names
    assert len(manager.pass_records()) == len(NAMES)


def test_passes_to_skip_are_a_collection_of_names():
    with pytest.raises(InvalidArgumentError, match=r"write \['FoldBatchNorm'\]"):
        edge_passes("FoldBatchNorm")
