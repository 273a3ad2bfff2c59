import threading

import pytest

from etlab.widgets import _stopping
from etlab.widgets._stopping import Stoppable, StopWork
from etlab.widgets.workbench.worker import Worker


@pytest.fixture(autouse=True)
def _impatient(monkeypatch):
    monkeypatch.setattr(_stopping, "_PATIENCE", 0.02)
    monkeypatch.setattr(_stopping, "_AGAIN", 0.02)


def in_thread(function, *arguments):
    thread = threading.Thread(target=function, args=arguments, daemon=True)
    thread.start()
    return thread


class Stubborn:
    """Work that goes on after so many blows."""

    def __init__(self, blows):
        self.blows, self.started, self.seen = blows, threading.Event(), []

    def __call__(self, *_):
        while True:
            try:
                self.started.set()
                while True:
                    pass
            except StopWork as error:
                self.seen.append(error)
                if len(self.seen) > self.blows:
                    raise


def ended(block, work, result):
    try:
        block.call(work)
    except StopWork:
        result.append("stopped")


def test_work_that_goes_on_is_struck_again_until_it_ends():
    block, work, result, silent = Stoppable(), Stubborn(2), [], []
    thread = in_thread(ended, block, work, result)
    assert work.started.wait(60)
    block.end(lambda: silent.append(True))
    thread.join(60)
    assert result == ["stopped"]
    assert len(work.seen) == 3
    assert silent == [True]


def test_work_that_has_ended_is_left_alone():
    block, silent = Stoppable(), []
    block.call(lambda: None)
    block.end(lambda: silent.append(True))
    assert block.is_asked
    assert silent == []


def test_the_exception_stays_within_the_call():
    for _ in range(200):  # the blow falls anywhere near the end of the call
        block, result = Stoppable(), []
        gate = threading.Event()

        def near_the_end(gate=gate):
            gate.set()

        def whole(block=block, work=near_the_end, result=result):
            ended(block, work, result)
            result.append(sum(range(100)))

        thread = in_thread(whole)
        assert gate.wait(60)
        block._strike()
        thread.join(60)
        assert result[-1] == 4950


def test_what_waits_for_work_is_done_after_it_and_the_newest_wish_counts():
    order, go_on, started = [], threading.Event(), threading.Event()
    idle = []
    worker = Worker(lambda: None, idle.append)

    def first(_):
        started.set()
        go_on.wait(60)
        order.append("first")

    worker.start(first)
    assert started.wait(60)
    worker.start(lambda _: order.append("second"))
    worker.start(lambda _: order.append("third"))  # something waits already
    go_on.set()
    assert worker.wait(60)
    assert order == ["first", "second"]
    assert idle == [False]
    worker.call(lambda _: order.append("here"))
    assert order[-1] == "here"
    assert idle == [False, False]


def test_replaced_work_ends_before_its_successor_begins():
    work, order = Stubborn(1), []
    worker = Worker(lambda: None, lambda _: None)

    def first(block):
        ended(block, work, order)

    worker.start(first)
    assert work.started.wait(60)
    worker.replace(lambda _: order.append("second"))
    assert worker.wait(60)
    assert order == ["stopped", "second"]


def test_stopping_nothing_does_nothing():
    worker = Worker(lambda: None, lambda _: None)
    worker.stop()
    assert worker.wait(0)
