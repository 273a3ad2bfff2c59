import pytest
import torch

from etlab.exir import extended_operators, official_operators
from etlab.exir.ops import PRIM_OPERATORS, find_out_variant, scalar_overload
from etlab.exir.recurrent import RECURRENT

aten = torch.ops.aten

PAIRS = [
    (aten.add.Tensor, "aten::add.out"),
    (aten.add.Scalar, "aten::add.Scalar_out"),
    (aten.div.Tensor_mode, "aten::div.out_mode"),
    (aten.full.default, "aten::full.out"),
    (aten.arange.start_step, "aten::arange.start_out"),
    (aten.arange.default, "aten::arange.out"),
    (aten.mean.dim, "aten::mean.out"),
    (aten.mean.default, "aten::mean.dtype_out"),
    (aten.sum.dim_IntList, "aten::sum.IntList_out"),
    (aten.any.default, "aten::any.all_out"),
    (aten.any.dim, "aten::any.out"),
    (aten.max.default, "aten::max.unary_out"),
    (aten.max.dim, "aten::max.dim_max"),
    (aten.topk.default, "aten::topk.values"),
    (aten.var.correction, "aten::var.correction_out"),
    (aten.where.self, "aten::where.self_out"),
    (aten.index.Tensor, "aten::index.Tensor_out"),
    (aten.convolution.default, "aten::convolution.out"),
    (aten.linear.default, "aten::linear.out"),
    (aten.upsample_bilinear2d.vec, "aten::upsample_bilinear2d.vec_out"),
    (aten.view.default, "aten::view_copy.out"),
    (aten.view_copy.default, "aten::view_copy.out"),
    (aten.select.int, "aten::select_copy.int_out"),
    (aten.split_with_sizes.default, "aten::split_with_sizes_copy.out"),
    (aten.squeeze.dims, "aten::squeeze_copy.dims_out"),
    (aten.clone.default, "dim_order_ops::_clone_dim_order.out"),
    (aten._to_copy.default, "dim_order_ops::_to_dim_order_copy.out"),
    (aten.empty.memory_format, "dim_order_ops::_empty_dim_order.out"),
]


@pytest.mark.parametrize(("functional", "name"), PAIRS, ids=[name for _, name in PAIRS])
def test_out_variant_is_the_one_the_official_runtime_has(functional: object, name: str) -> None:
    variant = find_out_variant(functional)  # type: ignore[arg-type]
    assert variant is not None
    assert variant.full_name == name
    assert variant.is_official


def test_arguments_follow_the_out_schema_with_defaults() -> None:
    variant = find_out_variant(aten.add.Tensor)
    assert variant is not None
    graph = torch.fx.Graph()
    x, y = graph.placeholder("x"), graph.placeholder("y")
    assert variant.bind(graph.call_function(aten.add.Tensor, (x, y))) == [x, y, 1, None]
    call = graph.call_function(aten.add.Tensor, (x,), {"other": y, "alpha": 3})
    assert variant.bind(call) == [x, y, 3, None]


def test_an_operator_without_an_out_variant_has_none() -> None:
    assert find_out_variant(aten._safe_softmax.default) is None


def test_extended_operators_are_named_as_libraries_without_out_variants_do() -> None:
    names = {
        variant.full_name
        for operator in (aten.scaled_dot_product_attention.default, *RECURRENT)
        if (variant := find_out_variant(operator)) is not None
    }
    assert names == extended_operators.WHOLE


def test_quantized_operators_get_the_out_variant_of_their_library() -> None:
    import torch.ao.quantization.fx._decomposed  # registers the operators

    quantize = find_out_variant(torch.ops.quantized_decomposed.quantize_per_tensor.default)
    assert quantize is not None
    assert quantize.full_name == "quantized_decomposed::quantize_per_tensor.out"
    assert quantize.is_official


def test_numbers_go_to_the_scalar_overload_where_the_runtime_has_it() -> None:
    assert scalar_overload(aten.mul.Tensor) == aten.mul.Scalar
    assert scalar_overload(aten.pow.Tensor_Tensor) == aten.pow.Tensor_Scalar
    assert scalar_overload(aten.maximum.default) is None


def test_every_prim_operator_exists_in_the_official_runtime() -> None:
    for operator in PRIM_OPERATORS.values():
        assert operator.full_name in official_operators.DEFAULT


def test_the_table_of_official_operators_has_its_known_size() -> None:
    assert len(official_operators.DEFAULT) == 240
    assert len(official_operators.QUANTIZED) == 19
