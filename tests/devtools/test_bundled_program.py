"""Bundled programs: written, read back, verified in our runtime."""

import pytest
import torch
from small_models import Counter, Mlp

from etlab import errors
from etlab.devtools import BundledProgram, Inspector, MethodTestCase, MethodTestSuite
from etlab.devtools.bundled_program import verify
from etlab.devtools.bundled_program.serialize import (
    deserialize_from_flatbuffer_to_bundled_program as read,
)
from etlab.devtools.bundled_program.serialize import (
    serialize_from_bundled_program_to_flatbuffer as write,
)
from etlab.exir import to_edge
from etlab.runtime import Runtime


@pytest.fixture(scope="module")
def mlp():
    torch.manual_seed(0)
    model = Mlp().eval()
    program = to_edge(
        torch.export.export(model, (torch.randn(2, 5),)), generate_etrecord=True
    ).to_executorch()
    return model, program


@pytest.fixture
def bundle(mlp):
    model, program = mlp
    inputs = [torch.randn(2, 5, generator=torch.Generator().manual_seed(i)) for i in range(2)]
    cases = [MethodTestCase((x,), model(x).detach()) for x in inputs]
    return BundledProgram(program, [MethodTestSuite("forward", cases)])


def test_bytes_to_bundle_to_bytes_are_the_same(bundle, tmp_path):
    data = write(bundle)
    assert data[4:8] == b"BP08"
    again = read(data)
    assert write(again) == data
    assert again.program_bytes == bundle.program_bytes
    for case, other in zip(bundle.suite().test_cases, again.suite().test_cases, strict=True):
        assert torch.equal(case.inputs[0], other.inputs[0])
        assert torch.equal(case.expected_outputs[0], other.expected_outputs[0])
    bundle.save(tmp_path / "mlp.bpte")
    assert (tmp_path / "mlp.bpte").read_bytes() == data


def test_the_program_inside_is_aligned(bundle):
    data = write(bundle)
    assert data.index(bundle.program_bytes) % 32 == 0


def test_right_outputs_verify(bundle):
    result = verify(read(write(bundle)))
    result.check()
    assert result.is_ok
    assert repr(result) == "Verification(2 of 2 outputs as expected)"
    assert list(result.to_dataframe().case) == [0, 1]


def test_wrong_outputs_are_named(mlp):
    model, program = mlp
    x = torch.ones(2, 5)
    wrong = model(x).detach()
    wrong[1, 2] += 0.5
    suite = MethodTestSuite("forward", [MethodTestCase((x,), wrong)])
    result = verify(BundledProgram(program, [suite]))
    assert not result.is_ok
    with pytest.raises(errors.VerificationError, match="case 0, output 0: 1 of 6 numbers differ"):
        result.check()
    assert verify(BundledProgram(program, [suite]), rtol=10, atol=10).is_ok


def test_failing_run_is_a_result(mlp):
    _, program = mlp
    suite = MethodTestSuite("forward", [MethodTestCase((torch.ones(3, 5),))])
    (result,) = verify(BundledProgram(program, [suite])).results
    assert not result.is_close
    assert "input 0" in result.message


def test_every_case_begins_with_the_first_state():
    exported = torch.export.export(Counter(), (torch.ones(3),))
    program = to_edge(exported).to_executorch()
    case = MethodTestCase((torch.ones(3),), Counter()(torch.ones(3)).detach())
    verify(BundledProgram(program, [MethodTestSuite("forward", [case, case])])).check()


@pytest.mark.parametrize("layout", ["contiguous", "channels last", "strided", "empty", "scalar"])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64, torch.bool])
def test_tensors_of_any_layout_come_back(layout, dtype):
    made = {
        "contiguous": torch.arange(24).view(1, 2, 3, 4),
        "channels last": torch.arange(24).view(1, 2, 3, 4).to(memory_format=torch.channels_last),
        "strided": torch.arange(48).view(1, 2, 3, 8)[..., ::2],
        "empty": torch.empty(2, 0, 3),
        "scalar": torch.tensor(1),
    }[layout].to(dtype)

    class Same(torch.nn.Module):
        def forward(self, x):
            return x.clone()

    program = to_edge(torch.export.export(Same(), (made.contiguous(),))).to_executorch()
    suite = MethodTestSuite("forward", [MethodTestCase((made,))])
    (loaded,) = read(write(BundledProgram(program, [suite]))).suite().test_cases[0].inputs
    assert torch.equal(loaded, made)
    assert loaded.dtype == dtype


def test_cases_that_do_not_fit_are_refused_in_words(mlp):
    _, program = mlp

    fitting = (torch.ones(2, 5),)

    def bundle(name="forward", inputs=fitting, outputs=None):
        suite = MethodTestSuite(name, [MethodTestCase(inputs, outputs)])
        return BundledProgram(program, [suite])

    with pytest.raises(errors.InvalidArgumentError, match="no method 'backward'"):
        bundle("backward")
    with pytest.raises(errors.InvalidArgumentError, match="has 2 inputs, the method has 1"):
        bundle(inputs=(torch.ones(2, 5), 1))
    with pytest.raises(errors.InvalidArgumentError, match=r"input 0: torch.int64, the program has"):
        bundle(inputs=(torch.ones(2, 5, dtype=torch.int64),))
    with pytest.raises(errors.InvalidArgumentError, match="output 0: 3 for a tensor"):
        bundle(outputs=3)
    with pytest.raises(errors.InvalidArgumentError, match="hold a str"):
        MethodTestCase(("text",))
    with pytest.raises(errors.InvalidArgumentError, match="give one of"):
        BundledProgram()
    with pytest.raises(errors.InvalidArgumentError, match=r"to_executorch returns .* got int"):
        BundledProgram(3)
    with pytest.raises(errors.InvalidArgumentError, match=r"MethodTestSuites?, got int"):
        BundledProgram(program, [3])
    with pytest.raises(errors.InvalidArgumentError, match="no cases for method 'other'"):
        verify(BundledProgram(program), "other")


def test_damaged_bundles_are_refused(bundle):
    data = write(bundle)
    for cut in range(0, len(data), max(len(data) // 40, 1)):
        with pytest.raises(errors.EtlabError):
            read(data[:cut])
    for place in range(0, 400, 3):
        damaged = bytearray(data)
        damaged[place] ^= 0x55
        try:
            read(bytes(damaged))
        except errors.EtlabError:
            continue


def test_an_inspector_shows_expected_outputs_beside_those_of_a_case(mlp, bundle):
    _, program = mlp
    record = program.get_etrecord().copy()
    record.add_executorch_program(bundle)
    method = Runtime.get().load_program(bundle.program_bytes).load_method("forward")
    case = bundle.suite().test_cases[1]
    with method.trace(results=True) as trace:
        trace.bundled_input_index = 1
        method.execute(case.inputs)
    _, run = Inspector(trace=trace, etrecord=record).event_blocks
    assert run.bundled_input_index == 1
    assert torch.equal(run.reference_output[0], case.expected_outputs[0])
    torch.testing.assert_close(run.run_output[0], run.reference_output[0])
    assert torch.equal(record.representative_inputs[0], bundle.suite().test_cases[0].inputs[0])
