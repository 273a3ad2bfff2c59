"""A sweep on a Dask cluster: the same work, one task a configuration."""

import importlib
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any

from etlab.errors import AccessError, NotSupportedError
from etlab.sweeping.trial import Outcome, describe, measure_packed

_POLL_SECONDS = 0.05
_CONNECT_SECONDS = 10


def run_cluster(
    work: bytes, indices: Sequence[int], address: str, check_stop: Callable[[], None]
) -> Generator[Outcome, None, None]:
    """Outcomes as they come; a task that the cluster loses is a failure with its reason.

    Args:
        work: pickled.
        indices: of the configurations to measure.
        address: of the scheduler.
        check_stop: called several times a second; raises to stop.

    Raises:
        NotSupportedError: `distributed` is not installed.
        AccessError: no scheduler answers there, or it has no workers.
    """
    client = _connect(address)
    futures: dict[Any, int] = {}
    try:
        data = _scatter(client, work, address)
        for index in indices:
            futures[client.submit(measure_packed, data, index, pure=False)] = index
        while futures:
            done = [future for future in futures if future.done()]
            if not done:
                check_stop()
                time.sleep(_POLL_SECONDS)
            for future in sorted(done, key=futures.__getitem__):
                index = futures.pop(future)
                error = future.exception()
                yield Outcome(index, {}, describe(error), 0.0) if error else future.result()
    finally:
        client.cancel(list(futures))
        client.close()


def _scatter(client: Any, work: bytes, address: str) -> Any:
    """The work on every worker, so that none is nearer to it."""
    try:
        client.wait_for_workers(1, timeout=_CONNECT_SECONDS)
    except TimeoutError as error:
        raise AccessError(
            f"sweep: the cluster at {address!r} has no workers; start some with"
            f" `dask worker {address}` where etlab is installed"
        ) from error
    return client.scatter(work, hash=False, broadcast=True)


def _connect(address: str) -> Any:
    try:
        distributed = importlib.import_module("distributed")
    except ImportError as error:
        raise NotSupportedError(
            "sweep: scheduler= needs the package distributed: pip install 'etlab[dask]'"
        ) from error
    try:
        return distributed.Client(address, timeout=_CONNECT_SECONDS, set_as_default=False)
    except (OSError, ValueError, TypeError) as error:
        raise AccessError(
            f"sweep: no Dask scheduler answers at {address!r} ({describe(error)}); start one with"
            " `dask scheduler` and give its address, such as 'tcp://10.0.0.5:8786'"
        ) from error
