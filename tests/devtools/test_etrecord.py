"""ETRecords: what a lowering records, saved and read back."""

import zipfile

import pytest
import torch
from torch import nn
from torch._export import verifier

from etlab import errors
from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.devtools import ETRecord, generate_etrecord, parse_etrecord
from etlab.exir import to_edge, to_edge_transform_and_lower


class Net(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(5, 7)
        self.second = nn.Linear(7, 3)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.relu(self.first(x))
        return torch.topk(self.second(y), 2).values + 1.0


@pytest.fixture(scope="module")
def exported() -> torch.export.ExportedProgram:
    torch.manual_seed(0)
    return torch.export.export(Net(), (torch.randn(2, 5),))


@pytest.fixture(params=["portable", "xnnpack"])
def program(request, exported):
    partitioner = XnnpackPartitioner() if request.param == "xnnpack" else None
    edge = to_edge_transform_and_lower(exported, partitioner=partitioner, generate_etrecord=True)
    return edge.to_executorch()


def read_all(path):
    record = parse_etrecord(path)
    _ = record.exported_program, record.edge_dialect_program
    _ = record.graph("edge_dialect_exported_program").nodes


def test_saved_record_computes_what_the_model_computes(program, exported, tmp_path):
    program.get_etrecord().save(tmp_path / "net.etrecord")
    record = parse_etrecord(tmp_path / "net.etrecord")
    x = torch.randn(2, 5)
    wanted = exported.module()(x)
    assert torch.equal(record.exported_program.module()(x), wanted)
    torch.testing.assert_close(record.edge_dialect_program.module()(x), wanted)


def test_every_instruction_leads_back_to_nodes_of_the_edge_graph(program, tmp_path):
    program.get_etrecord().save(tmp_path / "net.etrecord")
    record = parse_etrecord(tmp_path / "net.etrecord")
    nodes = record.graph("edge_dialect_exported_program").nodes
    known = {node.debug_handle: node for node in nodes}
    count = len(program.executorch_program.execution_plan[0].chains[0].instructions)
    found = record.debug_handle_map["forward"]
    assert sorted(map(int, found)) == list(range(count))
    for handle in found.values():
        for one in handle if isinstance(handle, list) else [handle]:
            assert one in known
    assert {known[h].origin for h in known} >= {"linear", "relu", "topk", "add"}
    linear = next(node for node in known.values() if node.origin == "linear")
    assert "first" in [path for path, _ in linear.modules.values()]
    assert "test_etrecord.py" in linear.stack_trace


def test_delegates_are_named_with_the_handles_of_their_nodes(exported, tmp_path):
    edge = to_edge_transform_and_lower(
        exported, partitioner=XnnpackPartitioner(), generate_etrecord=True
    )
    program = edge.to_executorch()
    delegates = program.delegate_map["forward"]
    assert {one["name"] for one in delegates.values()} == {"XnnpackBackend"}
    for instruction, one in delegates.items():
        inside = program.debug_handle_map["forward"][instruction]
        assert isinstance(inside, list)
        for name, handles in one["delegate_map"].items():
            found = handles if isinstance(handles, tuple) else (handles,)
            assert name.endswith(f" [{found[0]}]")
            assert set(found) <= set(inside)
        assert not one["partial_nodes"]
        assert one["value_orders"]
    assert program.instruction_id_to_num_outs_map["forward"].keys() == delegates.keys()


def test_a_record_that_was_not_asked_for_is_refused(exported):
    edge = to_edge(exported)
    for manager in (edge, edge.to_executorch()):
        with pytest.raises(errors.InvalidArgumentError, match="generate_etrecord=True"):
            manager.get_etrecord()
    edge = to_edge(exported, generate_etrecord=True)
    with pytest.raises(errors.InvalidArgumentError, match="call to_executorch"):
        edge.get_etrecord().save("never.etrecord")


def test_transforming_keeps_the_record(exported):
    edge = to_edge(exported, generate_etrecord=True).transform([]).to_backend(XnnpackPartitioner())
    record = edge.to_executorch().get_etrecord()
    assert repr(record) == (
        "ETRecord(exported_program, edge_dialect_exported_program/forward; "
        f"{len(record.debug_handle_map['forward'])} instructions)"
    )


def test_a_record_of_graphs_at_hand_has_what_was_given(exported, tmp_path):
    edge = to_edge(exported)
    program = edge.to_executorch()
    path = tmp_path / "hand.etrecord"
    generate_etrecord(path, edge, program, {"exported_program": exported, "other": exported})
    record = parse_etrecord(path)
    assert set(record.graph_map) == {"other/forward"}
    assert record.graph("other").nodes
    assert record.exported_program is not None
    with pytest.raises(errors.NotFoundError, match="it has: edge_dialect"):
        record.graph("another")
    with pytest.raises(errors.InvalidArgumentError, match="name of the ETRecord itself"):
        ETRecord().add_extra_export_modules({"delegate_map": exported})


def test_several_methods_have_maps_of_their_own(exported, tmp_path):
    edge = to_edge({"one": exported, "two": exported}, generate_etrecord=True)
    record = edge.to_executorch().get_etrecord()
    record.save(tmp_path / "two.etrecord")
    record = parse_etrecord(tmp_path / "two.etrecord")
    assert set(record.edge_dialect_program) == set(record.debug_handle_map) == {"one", "two"}


def test_branches_come_back_with_their_nodes(tmp_path):
    class Branches(nn.Module):
        def forward(self, x):
            return torch.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,)) + 1

    exported = torch.export.export(Branches(), (torch.ones(3),))
    to_edge(exported, generate_etrecord=True).to_executorch().get_etrecord().save(tmp_path / "b")
    record = parse_etrecord(tmp_path / "b")
    for x in (torch.ones(3), -torch.ones(3)):
        torch.testing.assert_close(record.edge_dialect_program.module()(x), Branches()(x))
    operators = [node.operator for node in record.graph("edge_dialect_exported_program").nodes]
    assert {"aten.sin.default", "aten.cos.default"} <= set(operators)


def test_inputs_and_outputs_are_kept(program, tmp_path):
    record = program.get_etrecord()
    record.update_representative_inputs([torch.ones(2, 5)])
    record.update_reference_outputs({"forward": [[torch.zeros(2, 2)]]})
    record.save(tmp_path / "net.etrecord")
    record = parse_etrecord(tmp_path / "net.etrecord")
    assert torch.equal(record.representative_inputs[0], torch.ones(2, 5))
    assert torch.equal(record.reference_outputs["forward"][0][0], torch.zeros(2, 2))


def test_other_and_damaged_files_are_refused_in_words(program, tmp_path):
    path = tmp_path / "net.etrecord"
    path.write_bytes(b"no zip at all")
    with pytest.raises(errors.InvalidProgramError, match="no ETRecord"):
        parse_etrecord(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("something", b"")
    with pytest.raises(errors.InvalidProgramError, match="without 'ETRECORD_V0'"):
        parse_etrecord(path)
    with pytest.raises(errors.AccessError, match="cannot read"):
        parse_etrecord(tmp_path / "missing")
    program.get_etrecord().save(path)
    with zipfile.ZipFile(path) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    for name in files:
        with zipfile.ZipFile(path, "w") as archive:
            for other, content in files.items():
                archive.writestr(other, b"[1" if other == name else content)
        if name == "ETRECORD_V0":
            continue
        with pytest.raises(errors.InvalidProgramError):
            read_all(path)


def test_records_are_read_beside_a_package_with_an_edge_dialect_of_its_own(
    program, exported, tmp_path, monkeypatch
):
    monkeypatch.setattr(verifier._VerifierMeta, "_registry", dict(verifier._VerifierMeta._registry))

    class Foreign(verifier.Verifier):
        dialect = "EDGE"

        def check_valid_op(self, op):
            raise AssertionError("a foreign verifier is not asked")

    program.get_etrecord().save(tmp_path / "net.etrecord")
    record = parse_etrecord(tmp_path / "net.etrecord")
    x = torch.randn(2, 5)
    torch.testing.assert_close(record.edge_dialect_program.module()(x), exported.module()(x))
    assert verifier.load_verifier("EDGE") is Foreign
