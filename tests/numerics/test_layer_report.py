"""What a report of layers says in a notebook, and what it tells a quantizer."""

import pytest
from numerics.quantized_models import residual_run, samples

from etlab.errors import InvalidArgumentError
from etlab.numerics import Closeness, LayerReport, LayerRow, compare_layers


def test_operators_become_the_modules_that_a_quantizer_is_to_leave_in_float():
    run = residual_run()
    report = compare_layers(run, samples(1), paths=["native", "exported"])
    fused = next(row for row in report if row.together)
    kept = report.to_quantizer_overrides([fused.operator])["keep_float"]
    modules = {row.operator: row.module for row in report}
    together = {modules[name] for name in (*fused.together, fused.operator)} - {""}
    assert set(kept) == together
    assert report.to_quantizer_overrides([]) == {"keep_float": ()}
    with pytest.raises(InvalidArgumentError, match="no operator 'nothing'"):
        report.to_quantizer_overrides(["nothing"])


def test_card_of_a_deep_model_is_small_and_lists_what_is_farthest_away():
    rows = [
        LayerRow(
            "native",
            f"conv2d_{place}",
            "conv2d",
            f"blocks.{place}",
            "net.py:12",
            "",
            accumulated=Closeness({"sqnr_db": 10.0 + (place * 37) % 2000}),
            local=Closeness({"sqnr_db": 90.0}),
        )
        for place in range(2000)
    ]
    report = LayerReport("deep", "eager", ("sqnr_db",), tuple(rows), (), "2 samples")
    card = report._repr_html_()
    assert len(card) < 150_000
    assert "2000 operators" in card
    assert "the 100 that are farthest away" in card
    assert all(f">{10 + step:.1f}<" in card for step in range(100))
    assert ">110.0<" not in card
