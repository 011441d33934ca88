"""Trains on the workers of a Dask cluster: each worker of the job is an actor on a Dask worker of its own.

    result = steelyard.dask.run(client, 'train.py')

The scheduler and the servers of the job run on the client's machine.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any, Mapping, Optional, Sequence, Union

from steelyard._attend import Attend
from steelyard._engine import EngineJob, Result, Script, Worker, run_job
from steelyard._errors import Failure, refuse
from steelyard._passage import Lost, Place

try:
    import cloudpickle
    import distributed
    from distributed.comm import get_address_host
    from distributed.utils import get_ip
except ModuleNotFoundError as why:
    raise refuse(f'steelyard.dask needs Dask ({why}): pip install "dask[distributed]"') from why

__all__ = ['Result', 'run']

_ANSWER = 30.0  # seconds; receive() itself waits for five
_FAREWELL = 15.0  # seconds for an actor to end its processes


def run(
    client: distributed.Client,
    script: Script,
    workers: Optional[int] = None,
    *,
    arguments: Sequence[str] = (),
    settings: Optional[Mapping[str, Any]] = None,
    worker_keys: Optional[Mapping[str, Mapping[str, Any]]] = None,
    servers: int = 1,
    wait: float = 600,
    run_dir: Union[None, str, os.PathLike[str]] = None,
    resume: bool = False,
    launch_options: Sequence[str] = (),
) -> Result:
    """Trains `script`: a script that joins the job, a function that does so, or a job file (.toml).

    The job gets a worker on each Dask worker, or on `workers` of them, for which it waits up to `wait` seconds.
    `arguments` are the script's, `settings` replace keys of the job ({'train.epochs': 3}), and `worker_keys`
    adds keys of a hosts file's [[host.worker]] ({'worker-1': {'max_batch': 64}}). `launch_options` are further
    options of `steelyard launch`. Returns once the job has ended; a failed one has a `result.error`.
    """
    job = EngineJob(
        script, arguments, settings or {}, servers, run_dir, resume, launch_options, cloudpickle.dumps
    )
    count = len(client.nthreads()) if workers is None else workers
    if count < 1:
        raise refuse('the Dask cluster has no worker: scale it, or wait for its workers with workers=N')
    try:
        client.wait_for_workers(count, timeout=wait)
    except asyncio.TimeoutError:
        raise refuse(
            f'the Dask cluster has {len(client.nthreads())} workers after {wait:g} s, not {count}: '
            'scale it, or raise wait='
        ) from None
    pool = _Pool(client)
    threads = pool.threads()
    there = [
        Worker(
            _DaskPlace(pool, address),
            get_address_host(address),
            {'threads': threads[address], **(worker_keys or {}).get(f'worker-{i}', {})},
        )
        for i, address in enumerate(pool.take() for _ in range(count))
    ]
    return run_job(job, there, get_ip(get_address_host(client.scheduler.address)))


class _Pool:
    """The Dask workers, and which of them have a worker of the job."""

    def __init__(self, client: distributed.Client) -> None:
        self.client = client
        self._lock = threading.Lock()
        self._taken: set[str] = set()

    def threads(self) -> dict[str, int]:
        """The number of threads of each Dask worker, by address."""
        return dict(self.client.nthreads())

    def take(self) -> str:
        """A free Dask worker. Raises Lost if all are taken."""
        known = self.threads()
        with self._lock:
            free = sorted(set(known) - self._taken)
            if not free:
                raise Lost
            self._taken.add(free[0])
            return free[0]

    def give(self, address: str) -> None:
        with self._lock:
            self._taken.discard(address)


class _DaskPlace(Place):
    """A Dask worker, and the actor on it. The next one is any free Dask worker."""

    def __init__(self, pool: _Pool, address: str) -> None:
        super().__init__()
        self._pool, self._address = pool, address
        self._future: Any = None  # keeps the actor alive
        self._actor: Any = None

    def start(self) -> None:
        try:
            if self._actor is None:
                self._address = self._address or self._pool.take()
                self._future = self._pool.client.submit(Attend, actor=True, pure=False, workers=[self._address])
                self._actor = self._future.result(timeout=_ANSWER)
            self._call('start')
        except (Lost, asyncio.TimeoutError, distributed.KilledWorker):
            self._give_up()
            raise Lost from None

    def send(self, data: bytes) -> None:
        self._call('send', data)

    def receive(self) -> Optional[bytes]:
        try:
            data: Optional[bytes] = self._call('receive')
        except Lost:
            self._give_up()
            raise
        return data

    def stop(self) -> None:
        actor = self._actor
        if actor is None:
            return
        try:
            actor.stop().result(timeout=_FAREWELL)
        except Exception:  # the actor is lost, or the whole cluster
            pass

    def _give_up(self) -> None:
        self._actor = self._future = None
        self._pool.give(self._address)
        self._address = ''

    def _call(self, method: str, *arguments: object) -> Any:
        actor = self._actor
        try:
            return getattr(actor, method)(*arguments).result(timeout=_ANSWER)
        except Failure:
            raise
        except (OSError, RuntimeError, KeyError, AttributeError, asyncio.TimeoutError, asyncio.CancelledError):
            raise Lost from None  # the actor's process is lost, hangs, or was replaced
