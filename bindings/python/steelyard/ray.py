"""Trains on a Ray cluster of unequal nodes: each worker is an actor with resources of its own.

    result = steelyard.ray.run('train.py', workers=[{'CPU': 4}, {'CPU': 2}, {'CPU': 1, 'GPU': 1}])

The scheduler and the servers run on the driver's machine.
"""

from __future__ import annotations

import os
import sys
from typing import Any, Mapping, Optional, Sequence, Union

from steelyard._attend import Attend
from steelyard._engine import EngineJob, Result, Script, Worker, run_job
from steelyard._errors import refuse
from steelyard._passage import Lost, Passage, Place

try:
    import ray
    from ray import cloudpickle
    from ray.exceptions import GetTimeoutError, RayActorError, RayTaskError
    from ray.util import get_node_ip_address, placement_group, placement_group_table, remove_placement_group
    from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy
except ModuleNotFoundError as why:
    raise refuse(f'steelyard.ray needs Ray ({why}): pip install ray') from why

__all__ = ['Result', 'run']

_TICK = 0.5  # seconds
_FAREWELL = 15.0  # seconds for an actor to end its processes; it is killed after that


def run(
    script: Script,
    workers: Sequence[Mapping[str, float]],
    *,
    arguments: Sequence[str] = (),
    settings: Optional[Mapping[str, Any]] = None,
    worker_keys: Optional[Mapping[str, Mapping[str, Any]]] = None,
    servers: int = 1,
    strategy: str = 'SPREAD',
    wait: float = 600,
    run_dir: Union[None, str, os.PathLike[str]] = None,
    resume: bool = False,
    launch_options: Sequence[str] = (),
) -> Result:
    """Trains `script`: a script that joins the job, a function that does so, or a job file (.toml).

    `workers` are the resources of each worker, worker-0 and so on, as Ray names them. They are one placement
    group, placed by `strategy`; it must be placed within `wait` seconds. A worker with GPUs computes on them.
    `arguments` are the script's, `settings` replace keys of the job ({'train.epochs': 3}), and `worker_keys`
    adds keys of a hosts file's [[host.worker]] ({'worker-1': {'max_batch': 64}}). `launch_options` are further
    options of `steelyard launch`. Returns once the job has ended; a failed one has a `result.error`.
    """
    if not workers:
        raise refuse('workers= is empty: give the resources of each worker, as in [{"CPU": 1}, {"GPU": 1}]')
    job = EngineJob(
        script, arguments, settings or {}, servers, run_dir, resume, launch_options, cloudpickle.dumps
    )
    if not ray.is_initialized():
        ray.init()
    bundles = [dict(it) for it in workers]
    group = placement_group(bundles, strategy=strategy)
    try:
        if not group.wait(timeout_seconds=wait):
            raise refuse(
                f'Ray has not placed {bundles} within {wait:g} s; it has {ray.cluster_resources()} in all: '
                'ask for less, add nodes, or raise wait='
            )
        addresses = {it['NodeID']: it['NodeManagerAddress'] for it in ray.nodes()}
        nodes = placement_group_table(group)['bundles_to_node_id']
        there = [
            Worker(
                _RayPlace(group, i, bundle),
                addresses[nodes[i]],
                {**_keys(bundle), **(worker_keys or {}).get(f'worker-{i}', {})},
            )
            for i, bundle in enumerate(bundles)
        ]
        return run_job(job, there, get_node_ip_address(), _leave_draining_nodes)
    finally:
        remove_placement_group(group)


def _keys(bundle: Mapping[str, float]) -> dict[str, Any]:
    """Of the [[host.worker]]. Ray numbers the GPUs of each actor from 0."""
    gpus = bundle.get('GPU', 0)
    if gpus > 1:
        return {'device': f'cuda:0-{int(gpus) - 1}'}
    return {'device': 'cuda:0'} if gpus else {'threads': max(1, int(bundle.get('CPU', 1)))}


def _draining() -> set[str]:
    """The nodes that accept no further work and will go away. Ray has no public function for it, so another release
    may have none at all: jobs then lose such a node as they lose a killed one."""
    try:
        return set(ray._private.state.state.get_draining_nodes())
    except AttributeError:
        return set()


def _leave_draining_nodes(passages: Sequence[Passage]) -> None:
    nodes = _draining()
    for passage in passages:
        node = passage.place.node if isinstance(passage.place, _RayPlace) else ''
        if node in nodes and passage.leave():
            print(f'steelyard: Ray drains the node of {passage.name}: its worker leaves', file=sys.stderr)


class _Actor(Attend):
    async def node(self) -> str:
        return str(ray.get_runtime_context().get_node_id())


class _RayPlace(Place):
    """One bundle of the placement group, and the actor in it."""

    def __init__(self, group: Any, index: int, bundle: Mapping[str, float]) -> None:
        super().__init__()
        others = {key: it for key, it in bundle.items() if key not in ('CPU', 'GPU', 'memory')}
        self._options = {
            'num_cpus': bundle.get('CPU', 0),
            'num_gpus': bundle.get('GPU', 0),
            'memory': bundle.get('memory'),
            'resources': others,
            'scheduling_strategy': PlacementGroupSchedulingStrategy(group, index),
        }
        self._actor: Any = None
        self.node = ''

    def start(self) -> None:
        if self._actor is None:
            self._actor = ray.remote(_Actor).options(**self._options).remote()
        try:
            self.node = self._get(self._actor.node.remote())
            if self.node not in _draining():
                self._get(self._actor.start.remote())
                return
        except RayActorError as why:
            self._actor = None
            if why.actor_init_failed:
                raise refuse(f'the actor cannot start; Steelyard must be installed on all nodes: {why}') from why
        # A draining node may have taken the actor; when the node goes, its bundle is placed elsewhere.
        raise Lost

    def send(self, data: bytes) -> None:
        try:
            self._get(self._actor.send.remote(data))
        except RayActorError:
            raise Lost from None

    def receive(self) -> Optional[bytes]:
        try:
            data: Optional[bytes] = self._get(self._actor.receive.remote())
        except RayActorError:
            self._actor = None
            raise Lost from None
        return data

    def stop(self) -> None:
        actor = self._actor
        if actor is None:
            return
        try:
            ray.get(actor.stop.remote(), timeout=_FAREWELL)
        except (GetTimeoutError, RayActorError):
            ray.kill(actor)
        if self.closed.is_set():
            ray.kill(actor)

    def _get(self, reference: Any) -> Any:
        while True:
            try:
                return ray.get(reference, timeout=_TICK)
            except GetTimeoutError:
                if self.closed.is_set():
                    raise Lost from None
            except RayTaskError as why:
                raise why.cause from why
