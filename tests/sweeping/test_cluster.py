import functools
import os
import threading

import pytest
import torch
from small_models import Mlp

import etlab
from etlab.errors import AccessError
from etlab.sweeping import Objective

pytest.importorskip("distributed", reason="needs the package distributed")

INPUTS = torch.linspace(-1, 1, 15).reshape(3, 5)


def _process(run, samples, folder):
    """Which process measures; the first one waits for another to come."""
    if run.quantizer == "fp16":
        raise RuntimeError("not here")
    (folder / str(os.getpid())).touch()
    for _ in range(3000):
        if len(list(folder.iterdir())) > 1:
            break
        threading.Event().wait(0.01)
    return float(os.getpid())


def test_a_cluster_of_two_workers_computes_what_this_process_does(tmp_path):
    from distributed import LocalCluster

    folder = tmp_path / "processes"
    folder.mkdir()
    quantizers = ["none", "int8-weights", "fp16", "int8-dynamic"]
    objectives = [Objective("process", functools.partial(_process, folder=folder)), "size"]
    with LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None, silence_logs=50
    ) as cluster:
        there = etlab.sweep(
            Mlp().eval(),
            INPUTS,
            quantizers=quantizers,
            objectives=objectives,
            file=tmp_path / "there.parquet",
            scheduler=cluster.scheduler_address,
        )
    assert [row.status for row in there.rows] == ["ok", "ok", "failed", "ok"]
    assert there.failures[0].reason == "RuntimeError: not here"
    processes = {row.values["process"] for row in there.rows if row.status == "ok"}
    assert len(processes) == 2
    assert os.getpid() not in processes
    here = etlab.sweep(
        Mlp().eval(),
        INPUTS,
        quantizers=quantizers,
        objectives=["size"],
        file=tmp_path / "here.parquet",
        workers=0,
    )
    for left, right in zip(there.rows, here.rows, strict=True):
        if left.status == "ok":
            for name in ("sqnr_db", "size"):
                assert left.values[name] == right.values[name]


def test_an_address_where_nobody_answers_is_an_error_with_the_way_out(tmp_path, monkeypatch):
    monkeypatch.setattr("etlab.sweeping.cluster._CONNECT_SECONDS", 0.2)
    with pytest.raises(AccessError, match="dask scheduler"):
        etlab.sweep(
            Mlp().eval(),
            INPUTS,
            file=tmp_path / "s.parquet",
            scheduler="tcp://127.0.0.1:9",
        )


def test_a_cluster_without_workers_is_an_error(tmp_path, monkeypatch):
    from distributed import LocalCluster

    monkeypatch.setattr("etlab.sweeping.cluster._CONNECT_SECONDS", 1)
    with (
        LocalCluster(n_workers=0, dashboard_address=None, silence_logs=50) as cluster,
        pytest.raises(AccessError, match="has no workers"),
    ):
        etlab.sweep(
            Mlp().eval(),
            INPUTS,
            file=tmp_path / "s.parquet",
            scheduler=cluster.scheduler_address,
        )
