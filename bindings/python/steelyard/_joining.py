"""The part of join() that all frameworks share: the keys of the job file, the cluster, and the
description of this worker."""

from __future__ import annotations

from typing import Any, Callable, Mapping, Optional

from steelyard import _cluster, _worker
from steelyard._errors import refuse
from steelyard._job import Factory
from steelyard._job_text import job_text, place_of

# Tests replace these.
clusters: Callable[[list[str]], _cluster.GivenCluster] = _cluster.find
worker_factory: Factory = _worker.Worker


def checked_batch(batch: int) -> int:
    """`batch` as a positive int; raises Failure otherwise."""
    if batch is None or int(batch) < 1:
        raise refuse(f'batch = {batch}: give the number of samples in a round, at least 1')
    return int(batch)


def job_keys(
    optimizer: Mapping[str, Any],
    *,
    batch: int,
    epochs: Optional[int],
    rounds: Optional[int],
    clip_norm: float,
    seed: int,
    name: Optional[str],
    more: Mapping[str, Any],
    job: Optional[Mapping[str, Any]],
) -> dict[str, Any]:
    """Keys of the job file from the arguments of join(): {"section.key": value}. `optimizer`: the
    translated keys. `more`: bare names. On conflicts, `job` overrides `more`, which overrides
    `optimizer`, which overrides the other arguments."""
    return {
        'job.name': name or _cluster.script_name(),
        'job.seed': seed,
        'model.name': 'external',
        'train.batch': batch,
        'train.epochs': epochs,
        'train.rounds': rounds,
        'train.clip_norm': float(clip_norm),
        **optimizer,
        **{place_of(key): value for key, value in more.items()},
        **(job or {}),
    }


def placed(
    keys: Mapping[str, Any],
    about: Mapping[str, Any],
    kind: str,
    resume: bool,
    run_dir: Optional[str],
    verbose: bool = True,
) -> tuple[dict[str, Any], _cluster.GivenCluster]:
    """Finds or starts the cluster, and returns this worker's description and the cluster. `about`:
    the keys of the description for model and data. `kind`: "cpu", or another type of device.
    `verbose`: whether a private cluster shows progress and summary."""
    cluster = clusters(_arguments(keys, resume, run_dir) + ([] if verbose else ['--quiet']))
    quiet = not verbose and not _cluster.endpoint_is_given()
    its = {**_cluster.description(cluster, kind), 'job': job_text(keys), 'quiet': quiet}
    return {**its, **about}, cluster


def _arguments(keys: Mapping[str, Any], resume: bool, run_dir: Optional[str]) -> list[str]:
    """Arguments of the command that runs a private cluster."""
    arguments = []
    for key in ('job.name', 'cluster.servers', 'cluster.shards_per_server'):
        if keys.get(key) is not None:
            arguments += ['--set', f'{key}={keys[key]}']
    if run_dir is not None:
        arguments += ['--run-dir', run_dir]
    if resume:
        arguments += ['--resume']
    return arguments
