import contextlib
import functools
import os
import signal
import threading
import time

import pytest
import torch

from etlab import errors, runtime
from etlab.testing import assert_same


@pytest.fixture
def long_method(load, example):
    _, args, _ = example("long")
    return load("long").new_method("forward"), list(args)


def _run_in_thread(body):
    result = []

    def target():
        try:
            result.append(body())
        except BaseException as error:
            result.append(error)

    thread = threading.Thread(target=target)
    thread.start()
    return thread, result


def test_other_threads_tick_while_a_method_runs(long_method):
    method, inputs = long_method
    ticks = []
    is_done = threading.Event()

    def tick():
        while not is_done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.005)

    thread = threading.Thread(target=tick)
    thread.start()
    begin = time.perf_counter()
    method.execute(inputs)
    end = time.perf_counter()
    is_done.set()
    thread.join()
    during = [moment for moment in ticks if begin <= moment <= end]
    assert len(during) >= 10 * (end - begin)


def test_interrupt_stops_a_run_from_another_thread(long_method):
    method, inputs = long_method
    thread, result = _run_in_thread(lambda: [method.execute(inputs) for _ in range(100)])
    deadline = time.monotonic() + 30
    while thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
        method.interrupt()
    thread.join()
    assert isinstance(result[0], errors.InterruptedExecutionError)
    assert "method 'forward', instruction" in str(result[0])


def test_interrupt_stops_a_program_of_one_long_operator(load, example):
    _, args, _ = example("sorted")
    method = load("sorted", "etlab").load_method("forward")
    thread, result = _run_in_thread(lambda: [method.execute(args) for _ in range(20)])
    deadline = time.monotonic() + 60
    while thread.is_alive() and time.monotonic() < deadline:
        time.sleep(0.02)
        method.interrupt()
    thread.join()
    assert isinstance(result[0], errors.InterruptedExecutionError)


def test_method_runs_again_after_an_interrupt(long_method):
    method, inputs = long_method
    expected = method.execute(inputs)[0]
    timer = threading.Timer(0.01, method.interrupt)
    timer.start()
    with contextlib.suppress(errors.InterruptedExecutionError):
        method.execute(inputs)
    timer.join()
    assert_same(method.execute(inputs)[0], expected)


@pytest.mark.usefixtures("listens_to_interrupts")
def test_stop_signal_raises_keyboard_interrupt_in_the_main_thread(long_method):
    method, inputs = long_method
    timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGINT])
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012
        timer.start()
        for _ in range(200):
            method.execute(inputs)
    assert method.execute(inputs)[0].shape == (700, 700)


def test_exceptions_of_signal_handlers_arrive(long_method):
    method, inputs = long_method

    def handler(number, frame):
        raise ZeroDivisionError("from the handler")

    before = signal.signal(signal.SIGUSR1, handler)
    try:
        timer = threading.Timer(0.1, os.kill, [os.getpid(), signal.SIGUSR1])
        with pytest.raises(ZeroDivisionError, match="from the handler"):  # noqa: PT012
            timer.start()
            for _ in range(200):
                method.execute(inputs)
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_two_methods_run_in_two_threads(load, example):
    module, args, _ = example("mlp")
    program = load("mlp")
    expected = module(*args).detach()

    def body(method):
        return [method.execute(args)[0] for _ in range(200)]

    methods = [program.new_method("forward") for _ in range(2)]
    threads = [_run_in_thread(functools.partial(body, method)) for method in methods]
    for thread, _ in threads:
        thread.join()
    for _, result in threads:
        for output in result[0]:
            assert_same(output, expected)


def test_runs_of_one_method_wait_for_each_other(load, example):
    module, (x,), _ = example("mlp")
    method = load("mlp").load_method("forward")

    def body(factor):
        return [method.execute([x * factor])[0] for _ in range(200)]

    threads = [_run_in_thread(functools.partial(body, factor)) for factor in (1.0, -2.0)]
    for (thread, result), factor in zip(threads, (1.0, -2.0), strict=True):
        thread.join()
        for output in result[0]:
            assert_same(output, module(x * factor).detach())


def test_thread_count_can_change_while_a_method_runs(long_method):
    method, inputs = long_method
    before = runtime.thread_count()
    expected = method.execute(inputs)[0]
    thread, result = _run_in_thread(lambda: method.execute(inputs)[0])
    for count in (1, 3, 2, 1):
        runtime.set_thread_count(count)
        assert runtime.thread_count() == count
    thread.join()
    runtime.set_thread_count(before)
    assert_same(result[0], expected)
    for count in (0, 1025, 2**70, "a", 2.0, True):
        with pytest.raises(errors.InvalidArgumentError, match="thread count"):
            runtime.set_thread_count(count)


def test_results_do_not_depend_on_the_thread_count(long_method):
    method, inputs = long_method
    before = runtime.thread_count()
    outputs = []
    for count in (1, 2, 3):
        runtime.set_thread_count(count)
        outputs.append(method.execute(inputs)[0])
    runtime.set_thread_count(before)
    assert torch.equal(outputs[0], outputs[1])
    assert torch.equal(outputs[0], outputs[2])


def test_a_thread_count_that_is_no_number_is_refused():
    with pytest.raises(errors.InvalidArgumentError, match="whole number, got str '2'"):
        runtime.set_thread_count("2")
    with pytest.raises(errors.InvalidArgumentError, match="whole number, got float"):
        runtime.Runtime.get().set_num_threads(2.5)


def test_the_runtime_object_sets_the_same_count():
    before = runtime.thread_count()
    try:
        runtime.Runtime.get().set_num_threads(3)
        assert runtime.thread_count() == runtime.Runtime.get().num_threads == 3
    finally:
        runtime.set_thread_count(before)
