import threading
import time

import pytest
import torch
from torch import nn

import etlab
from etlab.errors import InterruptedExecutionError
from etlab.numerics.stopping import interruptible
from etlab.run import StageListener, listen


def test_without_a_listener_nothing_is_started():
    before = threading.active_count()
    with interruptible(lambda: None):
        assert threading.active_count() == before


def test_a_stop_request_interrupts_what_runs():
    stop, interrupted = threading.Event(), threading.Event()
    with listen(StageListener(should_stop=stop.is_set)), interruptible(interrupted.set):
        assert not interrupted.wait(0.2)
        stop.set()
        assert interrupted.wait(10)


def test_a_stop_request_ends_a_native_run():
    class Slow(nn.Module):
        def forward(self, x):
            for _ in range(60):
                x = torch.tanh(x @ x)
            return x

    run = etlab.export(Slow(), (torch.eye(600),))
    begin = time.monotonic()
    run.run(torch.eye(600))
    whole = time.monotonic() - begin
    stop = threading.Event()
    threading.Timer(whole / 5, stop.set).start()

    def keep_running():
        for _ in range(50):
            run.run(torch.eye(600))

    with listen(StageListener(should_stop=stop.is_set)), pytest.raises(InterruptedExecutionError):
        keep_running()
