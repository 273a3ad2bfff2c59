"""Counts of delegated operators by ExecuTorch's names."""

from exir.lowering import seeded
from torch import nn

from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.devtools.backend_debug import get_delegation_info, print_delegation_info
from etlab.exir import to_edge_transform_and_lower
from etlab.testing_graphs import export_module


class PartlyTaken(nn.Module):
    """Two operators that XNNPACK takes around one that it does not."""

    def forward(self, x):
        return (x + x).erf() * 2 - x


def test_operators_are_counted_inside_and_outside_of_delegates(capsys):
    program = export_module(PartlyTaken(), (seeded(2, 3),))
    manager = to_edge_transform_and_lower(program, partitioner=[XnnpackPartitioner()])
    module = manager.exported_program().graph_module
    info = get_delegation_info(module)
    assert info.num_delegated_subgraphs == 2
    takes_results = info.num_delegated_subgraphs  # a getitem a delegate, as ExecuTorch counts
    assert info.num_non_delegated_nodes == 1 + takes_results
    by_name = info.delegation_by_operator
    assert (by_name["aten_erf_default"].delegated, by_name["aten_erf_default"].non_delegated) == (
        0,
        1,
    )
    assert by_name["aten_add_tensor"].delegated == 1
    table = info.get_operator_delegation_dataframe()
    assert list(table["op_type"])[-1] == "Total"
    assert table["occurrences_in_delegated_graphs"].iloc[-1] == info.num_delegated_nodes
    print_delegation_info(module)
    said = capsys.readouterr().out
    assert info.get_summary() in said
    assert "aten_erf_default" in said
