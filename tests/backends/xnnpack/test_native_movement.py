"""The native executor on nodes that pool, move and resize; sizes that change between runs."""

import pytest
import torch
from interop.payload_programs import D, PayloadProgram
from torch.nn import functional

from etlab.backends.xnnpack.payload.schema import PerTensorQuant
from etlab.errors import EtlabError
from etlab.runtime import Runtime, _native
from etlab.testing import assert_same

X = torch.randn(2, 8, 9, 5, generator=torch.Generator().manual_seed(0))  # (N, H, W, C)


def nhwc(x):
    return x.permute(0, 2, 3, 1).contiguous()


def nchw(x):
    return x.permute(0, 3, 1, 2)


def one(name, x, expected, limits=None, **fields):
    program = PayloadProgram()
    program.node(
        name, limits, input_id=program.input(x), output_id=program.output(expected), **fields
    )
    return program.run()[0]


def pooling_fields(kernel, stride, padding):
    return {
        "pooling_height": kernel[0],
        "pooling_width": kernel[1],
        "stride_height": stride[0],
        "stride_width": stride[1],
        "dilation_height": 1,
        "dilation_width": 1,
        "padding_top": padding[0],
        "padding_bottom": padding[0],
        "padding_left": padding[1],
        "padding_right": padding[1],
    }


@pytest.mark.parametrize(
    ("kernel", "stride", "padding"), [((3, 2), (2, 1), (1, 1)), ((2, 2), (2, 2), (0, 0))]
)
def test_pooling_leaves_the_padding_out(kernel, stride, padding):
    fields = pooling_fields(kernel, stride, padding)
    expected = nhwc(functional.max_pool2d(nchw(X), kernel, stride, padding))
    assert_same(one("MaxPooling2d", X, expected, **fields), expected)
    mean = functional.avg_pool2d(nchw(X), kernel, stride, padding, count_include_pad=False)
    assert_same(one("AvgPooling2d", X, nhwc(mean), **fields), nhwc(mean))


@pytest.mark.parametrize("channels", [3, 16, 70])
def test_the_largest_of_a_window_with_a_nan_is_nan(channels):
    x = torch.randn(1, 6, 7, channels, generator=torch.Generator().manual_seed(1))
    x[0, 2, 3, channels - 1] = x[0, 4, 4, 0] = float("nan")
    x[0, 0, 0] = float("-inf")
    expected = nhwc(functional.max_pool2d(nchw(x), 3, 2, 1))
    fields = pooling_fields((3, 3), (2, 2), (1, 1))
    assert_same(one("MaxPooling2d", x, expected, **fields), expected)


def test_average_pooling_of_official_files_leaves_its_dilation_zero():
    fields = pooling_fields((2, 2), (2, 2), (0, 0)) | {"dilation_height": 0, "dilation_width": 0}
    mean = nhwc(functional.avg_pool2d(nchw(X), 2))
    assert_same(one("AvgPooling2d", X, mean, **fields), mean)


def test_large_pooling_window():
    x = torch.randn(1, 20, 21, 3, generator=torch.Generator().manual_seed(1))
    expected = nhwc(functional.avg_pool2d(nchw(x), (20, 21)))
    fields = pooling_fields((20, 21), (1, 1), (0, 0))
    assert_same(one("AvgPooling2d", x, expected, **fields), expected)


def test_arg_max_pooling_gives_places_in_the_window_as_long_integers():
    x = X[:, :, :8]
    values, places = functional.max_pool2d(nchw(x), 2, return_indices=True)
    rows, columns = torch.meshgrid(torch.arange(4), torch.arange(4), indexing="ij")
    inside = (places // 8 - 2 * rows) * 2 + places % 8 - 2 * columns
    program = PayloadProgram()
    program.node(
        "ArgMaxPooling2d",
        pooling_height=2,
        pooling_width=2,
        input_id=program.input(x),
        output_value_id=program.output(nhwc(values)),
        output_index_id=program.output(nhwc(inside)),
    )
    actual_values, actual_places = program.run()
    assert_same(actual_values, nhwc(values))
    assert_same(actual_places, nhwc(inside))


@pytest.mark.parametrize("flags", [0, 0x40])
def test_global_average_pooling(flags):
    expected = X.mean((1, 2), keepdim=bool(flags))
    assert_same(one("GlobalAvgPooling2d", X, expected, flags=flags), expected)


@pytest.mark.parametrize("flags", [0, 8])
@pytest.mark.parametrize("size", [(13, 5), (4, 18), (1, 1)])
def test_resize_bilinear(size, flags):
    expected = nhwc(
        functional.interpolate(nchw(X), size, mode="bilinear", align_corners=bool(flags))
    )
    fields = {"new_height": size[0], "new_width": size[1], "flags": flags}
    assert_same(one("StaticResizeBilinear2D", X, expected, **fields), expected)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("permutation", [(0, 3, 1, 2), (3, 2, 1, 0), (0, 2, 1, 3), (1, 0, 3, 2)])
def test_transpose(permutation, dtype):
    x = X.to(dtype)
    expected = x.permute(permutation).contiguous()
    actual = one("StaticTranspose", x, expected, num_dims=4, perm=permutation)
    assert_same(actual, expected)


def test_large_matrix_is_transposed():
    x = torch.randn(300, 217, generator=torch.Generator().manual_seed(1))
    actual = one("StaticTranspose", x, x.t().contiguous(), num_dims=2, perm=(1, 0))
    assert_same(actual, x.t().contiguous())


@pytest.mark.parametrize("isa", ["best", "generic"])
def test_planes_of_three_colours_become_pixels(isa):
    quant = PerTensorQuant(0.5, 3)
    generator = torch.Generator().manual_seed(2)
    kinds = [
        (torch.randn(2, 3, 7, 11, generator=generator), None, None),
        (torch.randn(2, 3, 7, 11, generator=generator).half(), None, None),
        (torch.randint(-128, 128, (2, 3, 7, 11), dtype=torch.int8), D.QINT8, quant),
    ]
    _native.use_instruction_set(isa)
    try:
        for x, *kind in kinds:
            program = PayloadProgram()
            program.node(
                "StaticTranspose",
                num_dims=4,
                perm=(0, 2, 3, 1),
                input_id=program.input(x, *kind),
                output_id=program.output(nhwc(x), *kind),
            )
            assert_same(program.run()[0], nhwc(x))
    finally:
        _native.use_instruction_set("best")


def test_slice_and_pad():
    expected = X[1:2, 2:7, :, 1:4].contiguous()
    fields = {"num_dims": 4, "offsets": (1, 2, 0, 1), "sizes": (1, 5, 0, 3)}
    assert_same(one("StaticSlice", X, expected, **fields), expected)
    padded = functional.pad(X, (1, 0, 2, 3, 0, 1), value=1.5)
    fields = {
        "pre_paddings": (0, 0, 2, 1), "post_paddings": (0, 1, 3, 0), "padding_value": 1.5,
    }  # fmt: skip
    assert_same(one("StaticConstantPad", X, padded, **fields), padded)


@pytest.mark.parametrize("count", [2, 3, 4, 5])
@pytest.mark.parametrize("axis", [0, 2, -1])
def test_concatenate(count, axis):
    parts = [X[..., : i + 1] if axis == -1 else X for i in range(count)]
    parts = [part.contiguous() for part in parts]
    expected = torch.cat(parts, axis)
    program = PayloadProgram()
    ids = {f"input{i + 1}_id": program.input(part) for i, part in enumerate(parts)}
    program.node(
        f"Concatenate{count}", axis=axis & 0xFFFFFFFF, output_id=program.output(expected), **ids
    )
    assert_same(program.run()[0], expected)


def test_reshape_infers_a_size():
    expected = X.reshape(6, 120)
    assert_same(one("StaticReshape", X, expected, num_dims=2, new_shape=(6, 0)), expected)


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_rounds_after_every_node(dtype):
    x, weight = X.reshape(-1, 5).to(dtype), torch.randn(7, 5).to(dtype)
    between = functional.linear(x.float(), weight.float()).to(dtype)
    expected = torch.sigmoid(between.float()).to(dtype)
    program = PayloadProgram()
    middle = program.between(between.shape, D.FP16 if dtype == torch.float16 else D.BF16)
    program.node(
        "FullyConnected",
        input1_id=program.input(x),
        filter_id=program.constant(weight),
        bias_id=0xFFFFFFFF,
        output_id=middle,
    )
    program.node("Sigmoid", input_id=middle, output_id=program.output(expected))
    assert_same(program.run()[0], expected)


def chain():
    """(x.view + 1) * 2 with a branch that is read again at the end."""
    program = PayloadProgram()
    x = torch.randn(6, 4)
    source, one_more = program.input(x), program.constant(torch.ones(1))
    view, summed, squared = (program.between((4, 6)) for _ in range(3))
    program.node("StaticReshape", num_dims=2, new_shape=(4, 0), input_id=source, output_id=view)
    program.node("Add", input1_id=view, input2_id=one_more, output_id=summed)
    program.node("Square", input_id=summed, output_id=squared)
    program.node(
        "Multiply", input1_id=squared, input2_id=summed, output_id=program.output(x.view(4, 6))
    )
    return program


def test_values_in_between_share_memory_without_being_lost():
    program = chain()
    expected = (program.inputs[0].view(4, 6) + 1) ** 3
    assert_same(program.run()[0], expected)


def test_trace_opens_the_delegate():
    method = Runtime.get().load_program(chain().pte()).load_method("forward")
    with method.trace() as events:
        method.execute([torch.randn(6, 4)])
    (delegate,) = events
    assert [node.name for node in delegate.nodes] == ["StaticReshape", "Add", "Square", "Multiply"]
    assert [node.debug_handle for node in delegate.nodes] == [0, 1, 2, 3]
    assert sum(node.duration for node in delegate.nodes) <= delegate.duration


def test_sizes_may_change_from_run_to_run():
    method = Runtime.get().load_program(chain().pte()).load_method("forward")
    for rows in (6, 2, 4, 4, 6):
        x = torch.randn(rows, 4)
        assert_same(method.execute([x])[0], (x.view(4, rows) + 1) ** 3)


def test_sizes_that_do_not_fit_are_refused_in_words():
    program = PayloadProgram()
    ids = {"input1_id": program.input(torch.ones(3, 4)), "input2_id": program.input(torch.ones(4))}
    program.node("Add", output_id=program.output(torch.ones(3, 4)), **ids)
    with pytest.raises(EtlabError, match=r"node Add.*\[3, 3\] and \[4\]"):
        program.run(torch.ones(3, 3), torch.ones(4))


def test_attention_is_refused_as_the_official_runtime_does():
    program = PayloadProgram()
    program.node(
        "ScaledDotProductAttention",
        query_id=program.input(torch.ones(1, 1)),
        output_id=program.output(torch.ones(1, 1)),
    )
    with pytest.raises(EtlabError, match=r"ScaledDotProductAttention.*not supported"):
        program.run()
