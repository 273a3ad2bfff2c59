import pytest
import torch
import torchao.quantization.pt2e.quantize_pt2e  # noqa: F401  registers quantized_decomposed
from exir.lowering import Function, seeded

from etlab.backends.xnnpack import XnnpackPartitioner
from etlab.errors import InvalidArgumentError
from etlab.exir import to_edge
from etlab.exir.passes.quantize_io_pass import (
    QuantizeInputs,
    QuantizeOutputs,
    extract_io_quant_params,
)
from etlab.runtime import Runtime
from etlab.testing import assert_same
from etlab.testing_graphs import export_module

IN = (0.05, 3, -128, 127, torch.int8)
OUT = (0.125, -7, -128, 127, torch.int8)


def quantize(x, arguments):
    return torch.ops.quantized_decomposed.quantize_per_tensor(x, *arguments)


def dequantize(x, arguments):
    return torch.ops.quantized_decomposed.dequantize_per_tensor(x, *arguments)


def between(x):
    return (dequantize(x, IN) * 2 + 1).tanh()


def quantized(x, y):
    return dequantize(quantize(between(quantize(x, IN)), OUT), OUT), x.shape[0] + y


X, Y = seeded(3, 5), seeded(3, 5, seed=1)
INTEGERS = torch.ops.quantized_decomposed.quantize_per_tensor(X, *IN)


def edge(function=quantized, *inputs):
    return to_edge(export_module(Function(function), inputs or (X, Y)))


def method(manager):
    return Runtime.get().load_program(bytes(manager.to_executorch().buffer)).load_method("forward")


def test_integers_go_in_and_come_out_and_their_scales_are_answered():
    manager = edge()
    after = manager.transform([QuantizeInputs(manager, [0]), QuantizeOutputs(manager, [0])])
    program = Runtime.get().load_program(bytes(after.to_executorch().buffer))
    actual, _ = program.load_method("forward").execute([INTEGERS, Y])
    assert_same(actual, quantize(between(INTEGERS), OUT))
    answers = {name: program.load_method(name).execute([])[0] for name in after.config_methods}
    assert answers == {
        "input0_scale": 0.05,
        "input0_zp": 3,
        "input0_quant_min": -128,
        "input0_quant_max": 127,
        "input0_dtype": 1,
        "output0_scale": 0.125,
        "output0_zp": -7,
        "output0_quant_min": -128,
        "output0_quant_max": 127,
        "output0_dtype": 1,
    }
    assert not manager.config_methods
    assert_same(method(manager).execute([X, Y])[0], quantized(X, Y)[0])


def test_integers_of_another_kind_are_converted():
    given = {"scale": 0.1, "zp": 128, "dtype": torch.uint8}
    arguments = (0.1, 128, 0, 255, torch.uint8)
    manager = edge().transform([QuantizeInputs(None, {0: given}, "forward")])
    assert "forward_input0_zp" in manager.config_methods
    bytes_in = quantize(X, arguments)
    wanted = between(quantize(dequantize(bytes_in, arguments), IN))
    wanted = dequantize(quantize(wanted, OUT), OUT)
    assert_same(method(manager).execute([bytes_in, Y])[0], wanted)


def test_integers_of_the_same_kind_are_taken_as_they_are():
    given = {"scale": 0.05, "zp": 3, "dtype": torch.int8}
    manager = edge().transform([QuantizeInputs(None, {0: given}), QuantizeOutputs(None, [0])])
    assert_same(method(manager).execute([INTEGERS, Y])[0], quantize(between(INTEGERS), OUT))


def test_an_integer_returned_twice_is_returned_twice():
    def twice(x):
        q = quantize(x, OUT)
        return dequantize(q, OUT), dequantize(q, OUT)

    after = edge(twice, X).transform([QuantizeOutputs(None, [1])])
    first, second = method(after).execute([X])
    assert_same(first, twice(X)[0])
    assert_same(second, quantize(X, OUT))


def test_a_delegate_takes_the_integers():
    manager = edge().transform([QuantizeInputs(None, [0]), QuantizeOutputs(None, [0])])
    manager = manager.to_backend(XnnpackPartitioner())
    assert len(manager.config_methods) == 10
    actual, _ = method(manager).execute([INTEGERS, Y])
    assert (actual.int() - quantize(between(INTEGERS), OUT).int()).abs().max() <= 1


def test_parameters_are_told_without_a_change():
    manager = edge()
    told = extract_io_quant_params(manager, input_idxs=[0], output_idxs=[0])
    (name,) = told["inputs"]
    assert told["inputs"][name]["scale"] == 0.05
    assert [values["zero_point"] for values in told["outputs"].values()] == [-7]
    assert not manager.config_methods


@pytest.mark.parametrize(
    ("one_pass", "message"),
    [
        (QuantizeInputs(None, [1]), "input 1 must be used by one quantize_per_tensor"),
        (QuantizeInputs(None, [2]), "no user input 2; the program has 2"),
        (QuantizeInputs(None, {0: {"scale": 1.0}}), "needs its scale, zp and dtype"),
        (
            QuantizeInputs(None, {0: {"scale": 1.0, "zp": 0, "dtype": torch.int32}}),
            "one of 8 or 16 bits",
        ),
        (QuantizeOutputs(None, [1]), "output 1 is not dequantized per tensor"),
        (QuantizeOutputs(None, [-1]), "no user output -1"),
    ],
)
def test_what_is_not_quantized_is_refused(one_pass, message):
    with pytest.raises(InvalidArgumentError, match=message):
        edge().transform([one_pass])


def test_delegates_that_quantize_are_named():
    manager = edge().to_backend(XnnpackPartitioner())
    with pytest.raises(InvalidArgumentError, match="transform the program before to_backend"):
        manager.transform([QuantizeInputs(None, [0])])


def test_methods_that_ask_for_one_name_are_refused():
    def other(x):
        return dequantize(quantize(x, OUT), IN)

    programs = {
        "forward": export_module(Function(quantized), (X, Y)),
        "other": export_module(Function(other), (X,)),
    }
    manager = to_edge(programs)
    with pytest.raises(InvalidArgumentError, match="'input0_scale'; give their passes method_name"):
        manager.transform([QuantizeInputs(None, [0])])
    after = manager.transform({n: [QuantizeInputs(None, [0], n)] for n in ("forward", "other")})
    assert {"forward_input0_scale", "other_input0_scale"} < after.config_methods
