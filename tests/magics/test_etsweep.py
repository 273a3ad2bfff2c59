from types import SimpleNamespace

import pytest
from IPython.core.error import UsageError

from etlab.magics import etsweep
from etlab.magics.etsweep import read_axes


@pytest.mark.parametrize(
    "text",
    [
        "partitioner: none, xnnpack\nquantizer: none, 8da4w:group_size=32,keep_float=x  # two\n",
        "partitioner: [none, xnnpack]\nquantizers: ['none', '8da4w:group_size=32,keep_float=x']",
        "{'partitioners': ['none', 'xnnpack'],"
        " 'quantizer': ('none', '8da4w:group_size=32,keep_float=x')}",
    ],
)
def test_axes_are_lines_or_a_dict(text):
    assert read_axes(text) == {
        "partitioners": ["none", "xnnpack"],
        "quantizers": ["none", "8da4w:group_size=32,keep_float=x"],
    }


@pytest.mark.parametrize(
    ("text", "words"),
    [("color: red", "no axis 'color'"), ("none", "expected 'partitioner"), ("[1]", "expected")],
)
def test_other_axes_are_refused(text, words):
    with pytest.raises(UsageError, match=words):
        read_axes(text)


def test_sweep_is_that_of_the_printed_code(session, capsys, tmp_path):
    line = f"model -i x --objectives size --jobs 0 --resume {tmp_path}/s.parquet --print-code"
    sweep = session.run_cell_magic("etsweep", line, "quantizer: none, int8-weights\n")
    assert [row.quantizer for row in sweep.rows] == ["none", "int8-weights"]
    assert [one.name for one in sweep.objectives] == ["sqnr_db", "size"]
    names = {"model": session.user_ns["model"], "x": session.user_ns["x"]}
    exec(capsys.readouterr().out, names)
    assert all(row.is_cached for row in names["sweep"].rows)
    assert [row.values for row in names["sweep"].rows] == [row.values for row in sweep.rows]


def test_budget_ends_a_sweep_and_keeps_what_is_done(session, capsys, monkeypatch, tmp_path):
    file = tmp_path / "s.parquet"  # it is there once the first configuration is measured
    clock = SimpleNamespace(monotonic=lambda: 100.0 if file.exists() else 0.0)
    monkeypatch.setattr(etsweep, "time", clock)
    line = f"model -i x --jobs 0 --resume {file} --objectives size --budget 9 --print-code"
    sweep = session.run_cell_magic("etsweep", line, "quantizer: none, int8-weights\n")
    assert [row.status for row in sweep.rows] == ["ok", "not run"]
    names = {"model": session.user_ns["model"], "x": session.user_ns["x"]}
    code = capsys.readouterr().out
    assert "time.monotonic() + 9" in code
    exec(code, names)
    assert names["sweep"].is_complete
