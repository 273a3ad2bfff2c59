import threading

from etlab.sweeping.processes import Quiet


def test_who_measures_time_is_alone_and_others_go_on_afterwards():
    quiet, log = Quiet(), []
    is_computing, may_end = threading.Event(), threading.Event()

    def compute():
        quiet.begin()
        is_computing.set()
        may_end.wait()
        log.append("computed")
        quiet.end()

    def measure():
        quiet.begin()
        with quiet.alone():
            log.append("timing")
            late.start()
            late.join(0.05)
            log.append("timed")
        quiet.end()

    def compute_late():
        quiet.begin()
        log.append("late")
        quiet.end()

    late = threading.Thread(target=compute_late)
    first, second = threading.Thread(target=compute), threading.Thread(target=measure)
    first.start()
    is_computing.wait()
    second.start()
    second.join(0.05)
    assert log == []
    may_end.set()
    for thread in (first, second, late):
        thread.join()
    assert log == ["computed", "timing", "timed", "late"]
