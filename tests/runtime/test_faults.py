"""What happens when something goes wrong midway; the rules stand in `etlab.runtime.Method`."""

import contextlib
import dataclasses
import gc
import threading

import pytest
import torch
from edited_program import edit_program, edit_tensor, planned_values

from etlab import errors, exir
from etlab.runtime import Runtime
from etlab.testing import assert_same


def _in_threads(bodies):
    results = [None] * len(bodies)

    def target(index):
        try:
            results[index] = bodies[index]()
        except BaseException as error:
            results[index] = error

    threads = [threading.Thread(target=target, args=(index,)) for index in range(len(bodies))]
    for thread in threads:
        thread.start()
    return threads, results


def test_many_threads_run_many_methods_of_one_program(load, example):
    module, (x,), _ = example("mlp")
    program = load("mlp")
    shared = program.load_method("forward")

    def body(factor):
        own = program.new_method("forward")
        return [(own.execute([x * factor])[0], shared.execute([x * factor])[0]) for _ in range(40)]

    factors = [float(n - 3) for n in range(8)]
    threads, results = _in_threads([lambda factor=factor: body(factor) for factor in factors])
    for thread in threads:
        thread.join()
    for factor, result in zip(factors, results, strict=True):
        expected = module(x * factor).detach()
        for own, other in result:
            assert_same(own, expected)
            assert_same(other, expected)


def test_a_program_may_go_while_its_method_runs(load, example):
    _, args, _ = example("long")
    method = load("long").new_method("forward")
    expected = method.execute(args)[0]
    started = threading.Event()

    def body(running):
        started.set()
        return running.execute(args)[0]

    bodies = [lambda running=method: body(running)]
    del method
    threads, results = _in_threads(bodies)
    bodies.clear()
    started.wait()
    gc.collect()
    threads[0].join()
    assert_same(results[0], expected)


def test_an_arena_that_cannot_be_had_is_an_error_and_the_program_stays(compiled, example):
    _, args, _ = example("mlp")

    def enlarge(plan):
        value = planned_values(plan)[0]
        huge = (2**31 - 1, 2**17)  # 2**50 bytes: more than a process can address
        plan = edit_tensor(
            plan,
            value,
            lambda tensor: dataclasses.replace(
                tensor,
                sizes=huge,
                dim_order=(0, 1),
                allocation_info=dataclasses.replace(tensor.allocation_info, memory_offset_low=0),
            ),
        )
        return dataclasses.replace(plan, non_const_buffer_sizes=(0, 2**51))

    program = Runtime.get().load_program(edit_program(compiled("mlp", "etlab"), enlarge))
    for _ in range(2):
        with pytest.raises(errors.OutOfMemoryError, match="memory planned for activations"):
            program.load_method("forward")
    whole = Runtime.get().load_program(compiled("mlp", "etlab")).load_method("forward")
    assert whole.execute(args)[0].shape == (2, 3)


class Ledger(torch.nn.Module):
    """Adds to its state, then looks something up that may not exist."""

    def __init__(self):
        super().__init__()
        self.register_buffer("total", torch.zeros(3))

    def forward(self, x, index):
        self.total.add_(x)
        return torch.index_select(self.total, 0, index)


@pytest.fixture(scope="module")
def ledger():
    example = (torch.ones(3), torch.tensor([0]))
    program = exir.to_edge(torch.export.export(Ledger(), example)).to_executorch()
    return Runtime.get().load_program(program.buffer)


def test_a_failed_run_says_where_and_leaves_state_and_method_as_they_were(ledger):
    method = ledger.new_method("forward")
    method.execute([torch.ones(3), torch.tensor([0])])
    with pytest.raises(errors.EtlabError, match=r"instruction \d+ of \d+, aten::index_select.out"):
        method.execute([torch.ones(3), torch.tensor([99])])
    assert_same(method.execute([torch.ones(3), torch.tensor([2])])[0], torch.tensor([2.0]))


def test_a_failed_run_in_one_thread_does_not_disturb_another(ledger):
    method = ledger.new_method("forward")

    def fail():
        for _ in range(100):
            with contextlib.suppress(errors.EtlabError):
                method.execute([torch.ones(3), torch.tensor([99])])

    def run():
        ones = torch.ones(3)
        return [float(method.execute([ones, torch.tensor([1])])[0]) for _ in range(100)]

    threads, results = _in_threads([fail, run])
    for thread in threads:
        thread.join()
    assert results[1] == [float(n + 1) for n in range(100)]


def test_an_interrupted_run_leaves_state_as_it_was(load, example):
    _, args, _ = example("slow_counter")
    method = load("slow_counter", "etlab").new_method("forward")
    finished = 0
    while True:
        timer = threading.Timer(0.02, method.interrupt)
        timer.start()
        try:
            method.execute(args)
            finished += 1
        except errors.InterruptedExecutionError:
            break
        finally:
            timer.join()
    assert float(method.execute(args)[1]) == finished + 1
