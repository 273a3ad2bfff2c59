import functools
import os
import subprocess
import sys
import threading
import types
from dataclasses import replace

import pytest
import torch
from small_models import Mlp

import etlab
from etlab.errors import ExportError, InvalidArgumentError, NotFoundError, NotSupportedError
from etlab.run import StageListener, listen
from etlab.sweeping import Objective, latency, processes
from etlab.sweeping.fingerprint import objective_digest
from etlab.sweeping.objectives import find_objective

INPUTS = torch.linspace(-1, 1, 15).reshape(3, 5)


def _sweep(model, file, **options):
    options = {"objectives": ("size",), "quantizers": ("none", "int8-weights")} | options
    return etlab.sweep(model, INPUTS, file=file, **{"workers": 0, **options})


def _calls(run, samples):
    """Counts how often something was measured."""
    _calls.count += 1
    return float(_calls.count)


@pytest.fixture
def counted():
    _calls.count = 0
    return Objective("calls", _calls)


class Locked(Mlp):
    """A model that cannot be pickled."""

    def __init__(self):
        super().__init__()
        self.lock = threading.Lock()


def _failing(run, samples):
    if run.quantizer == "int8-weights":
        raise RuntimeError("no luck\n today")
    return 1.0


def _dying(run, samples):
    if run.quantizer == "int8-weights":
        print("goodbye", flush=True)
        os._exit(3)
    return 1.0


def test_a_sweep_measures_the_grid_in_its_order(tmp_path):
    sweep = _sweep(
        Mlp().eval(),
        tmp_path / "s.parquet",
        partitioners=["none", "xnnpack"],
        objectives=["size", "memory", "arena", latency(runs=2, warmup=0)],
    )
    assert [(row.partitioner, row.quantizer, row.status) for row in sweep.rows] == [
        ("none", "none", "ok"),
        ("none", "int8-weights", "ok"),
        ("xnnpack", "none", "ok"),
        ("xnnpack", "int8-weights", "ok"),
    ]
    run = etlab.export(Mlp().eval(), INPUTS, quantizer="int8-weights")
    values = sweep.rows[1].values
    assert list(values) == ["sqnr_db", "size", "memory", "arena", "latency"]
    assert values["size"] == len(run.file.data)
    assert values["memory"] == run.memory().total
    assert values["arena"] == run.memory_plan().peak
    parity = run.parity(INPUTS, paths=["native"], metrics=["sqnr_db"], layers=False)
    assert values["sqnr_db"] == parity.row("native").values["sqnr_db"]
    assert values["latency"] > 0
    assert sweep.is_complete


def test_the_same_question_is_answered_from_the_file(tmp_path, counted):
    ask = functools.partial(_sweep, file=tmp_path / "s.parquet", objectives=[counted])
    first, second = ask(Mlp().eval()), ask(Mlp().eval())
    assert counted.measure.count == 2
    assert [row.values for row in second.rows] == [row.values for row in first.rows]
    assert [row.is_cached for row in second.rows] == [True, True]
    assert repr(second) == repr(first)
    ask(Mlp().eval(), fresh=True)
    assert counted.measure.count == 4


def test_other_weights_data_options_or_code_are_another_question(tmp_path, counted):
    class Other(Mlp):
        def forward(self, x):
            return self.second(torch.tanh(self.first(x)))

    nudged = Mlp().eval()
    with torch.no_grad():
        nudged.second.bias[2] += 1e-3
    file = tmp_path / "s.parquet"
    for model, options in [
        (Mlp().eval(), {}),
        (nudged, {}),
        (Other().eval(), {}),
        (Mlp().eval(), {"evaluation": [INPUTS + 1]}),
        (Mlp().eval(), {"quantizers": ["none", "int8-weights:min_elements=1"]}),
        (Mlp().eval(), {"metric": "max_abs"}),
    ]:
        before = counted.measure.count
        _sweep(model, file, objectives=[counted], **options)
        expected = 1 if "quantizers" in options else 2  # "none" was there already
        assert counted.measure.count - before == expected, options


def test_what_fails_is_a_row_with_its_reason_and_is_tried_again(tmp_path):
    ask = functools.partial(
        _sweep, Mlp().eval(), tmp_path / "s.parquet", objectives=[Objective("luck", _failing)]
    )
    for _ in range(2):
        sweep = ask()
        assert [row.status for row in sweep.rows] == ["ok", "failed"]
        assert sweep.failures[0].reason == "RuntimeError: no luck today"
        assert [row.is_cached for row in ask().rows] == [True, False]


def test_a_stop_keeps_what_is_done_and_the_next_sweep_goes_on(tmp_path, counted):
    parts = []
    listener = StageListener(
        on_part=lambda *part: parts.append(part) if part[0] == "sweep" else None,
        should_stop=lambda: counted.measure.count == 1,
    )
    ask = functools.partial(_sweep, Mlp().eval(), tmp_path / "s.parquet", objectives=[counted])
    with listen(listener):
        stopped = ask()
    assert [row.status for row in stopped.rows] == ["ok", "not run"]
    assert not stopped.is_complete
    assert parts == [("sweep", 0, 2)]
    assert "sweep" in listener.seconds
    assert [row.is_cached for row in ask().rows] == [True, False]


def test_workers_are_processes_whose_death_is_a_row(tmp_path):
    file = tmp_path / "s.parquet"
    objectives = [Objective("life", _dying, is_timed=True), "size"]
    sweep = _sweep(Mlp().eval(), file, workers=2, objectives=objectives)
    assert [row.status for row in sweep.rows] == ["ok", "failed"]
    assert "ended with exit code 3; it wrote last: goodbye" in sweep.failures[0].reason
    here = _sweep(Mlp().eval(), tmp_path / "here.parquet")
    assert sweep.rows[0].values["sqnr_db"] == here.rows[0].values["sqnr_db"]
    assert sweep.rows[0].values["size"] == here.rows[0].values["size"]


def test_a_stop_ends_the_worker_processes_at_once(tmp_path, monkeypatch):
    children = []

    def popen(*arguments, **options):
        children.append(subprocess.Popen(*arguments, **options))
        return children[-1]

    monkeypatch.setattr(
        "etlab.sweeping.processes.subprocess", types.SimpleNamespace(PIPE=-1, Popen=popen)
    )
    with listen(StageListener(should_stop=lambda: bool(children))):
        sweep = _sweep(Mlp().eval(), tmp_path / "s.parquet", workers=2)
    assert [row.status for row in sweep.rows] == ["not run", "not run"]
    assert children
    assert [child.returncode for child in children] == [-9] * len(children)


def test_workers_are_as_many_as_tasks_processors_and_memory_allow(monkeypatch):
    monkeypatch.setattr(processes, "processors", lambda: 6)
    assert processes.sensible_workers(4, 0) <= 4
    assert processes.sensible_workers(100, 0) <= 6
    assert processes.sensible_workers(100, 1 << 50) == 1


def test_a_model_that_cannot_be_pickled_stays_here_or_comes_as_a_function(tmp_path):
    model = Locked().eval()
    with pytest.raises(InvalidArgumentError, match="a function that makes the model"):
        _sweep(model, tmp_path / "s.parquet", workers=2)
    assert _sweep(model, tmp_path / "s.parquet").failures == ()
    made = _sweep(lambda: Locked().eval(), tmp_path / "s.parquet")
    assert [row.is_cached for row in made.rows] == [True, True]


def test_results_lie_in_the_users_cache_folder_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    sweep = _sweep(Mlp().eval(), None, quantizers="none")
    assert sweep.file.parent == tmp_path / "etlab" / "sweeps"
    assert sweep.file.exists()


def test_names_are_checked_before_anything_is_exported(tmp_path):
    class Unexportable(Mlp):
        def forward(self, x):
            raise AssertionError("was exported")

    for wrong in (
        {"quantizers": ["int9"]},
        {"partitioners": ["xnnpack", "nothing"]},
        {"objectives": ["beauty"]},
    ):
        with pytest.raises(NotFoundError):
            _sweep(Unexportable().eval(), tmp_path / "s", **wrong)
    for wrong in (
        {"quantizers": []},
        {"objectives": [3]},
        {"workers": -1},
        {"objectives": [Objective("status", _failing)]},
    ):
        with pytest.raises(InvalidArgumentError):
            _sweep(Unexportable().eval(), tmp_path / "s", **wrong)
    with pytest.raises(ExportError):
        _sweep(Unexportable().eval(), tmp_path / "s")


def test_an_objective_is_named_as_a_column(tmp_path):
    with pytest.raises(InvalidArgumentError, match="Python name"):
        Objective("two words", _failing)
    assert find_objective("cosine").higher_is_better
    assert not find_objective("max_abs").higher_is_better


def test_a_cluster_without_the_package_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", None)
    with pytest.raises(NotSupportedError, match=r"pip install 'etlab\[dask\]'"):
        _sweep(Mlp().eval(), tmp_path / "s.parquet", scheduler="tcp://127.0.0.1:9")


def test_an_objective_of_another_surrounding_is_another_one():
    def bounded(limit):
        return Objective("bounded", lambda run, samples: limit)

    assert objective_digest(bounded(1)) == objective_digest(bounded(1))
    assert objective_digest(bounded(1)) != objective_digest(bounded(2))
    assert objective_digest(latency(runs=3)) != objective_digest(latency(runs=4))


def test_a_configuration_is_exported_again_to_look_at(tmp_path):
    sweep = _sweep(Mlp().eval(), tmp_path / "s.parquet")
    run = sweep.export(sweep.rows[1])
    assert run.quantizer == "int8-weights"
    assert len(run.file.data) == sweep.rows[1].values["size"]
    assert sweep.pareto.export().quantizer == sweep.best().quantizer
    with pytest.raises(InvalidArgumentError, match="row is of another sweep"):
        sweep.export(replace(sweep.rows[0], key="other"))
    with pytest.raises(InvalidArgumentError, match="made without its model"):
        replace(sweep, _open=None).export()
