"""The keys of a job file that join() takes as keyword arguments, with their types, and the checks of its
arguments. A test compares the keys with those of `steelyard help schema`."""

from __future__ import annotations

import difflib
import numbers
import operator
from typing import Any, Callable, Literal, Mapping, TypedDict, get_type_hints

from steelyard._errors import refuse

Encoding = Literal['float32', 'bf16', 'int8', 'int4']


class TrainKeys(TypedDict, total=False):
    """Keys of [train], without those that are arguments of join() or belong to the optimizer."""

    seconds: float
    target_accuracy: float
    outer_rate: float
    outer_momentum: float
    evaluate_every: int
    gradient_limit: float
    bad_gradient: Literal['recompute', 'rest', 'stop']
    checkpoint_every: int
    checkpoint_rounds: int
    checkpoint_minutes: float


class ClusterKeys(TypedDict, total=False):
    """Keys of [cluster]."""

    servers: int
    shards_per_server: int
    replicas: int
    bind_workers: bool
    sync: str
    sum_order: Literal['arrival', 'ordered']
    reproducible: bool
    push_encoding: Encoding
    pull_encoding: Encoding
    policy: str
    profile: bool
    profile_ms: str
    heartbeat: float
    heartbeat_timeout: float
    server_wait: float


class JobKeys(TrainKeys, ClusterKeys, total=False):
    """Keys of [train] and [cluster], as arguments of join()."""


CLUSTER_KEYS = frozenset(ClusterKeys.__annotations__)
# Keys of [train] that belong to the optimizer and its schedule.
OPTIMIZER_KEYS = frozenset(
    'optimizer lr momentum beta1 beta2 epsilon trust weight_decay schedule warmup step_epochs '
    'step_factor final_lr rates'.split()
)
# Arguments that all joins share.
_ARGUMENTS: dict[str, Any] = {
    'batch': int,
    'batch_size': int,
    'epochs': int,
    'rounds': int,
    'micro_batch': int,
    'seed': int,
    'workers': int,
    'num_workers': int,
    'clip_norm': float,
    'name': str,
    'schedule_per': str,
    'resume': bool,
    'verbose': bool,
    'fp16': bool,
    'overlap': bool,
}
# Names of other libraries, and the argument that does the same here.
_ALIASES = {
    'batch_size': 'batch',
    'num_workers': 'workers',
    'collate_fn': 'collate',
    'clip': 'clip_norm',
    'max_norm': 'clip_norm',
    'max_grad_norm': 'clip_norm',
    'gradient_clip_val': 'clip_norm',
    'num_epochs': 'epochs',
    'n_epochs': 'epochs',
    'max_epochs': 'epochs',
    'num_train_epochs': 'epochs',
    'max_steps': 'rounds',
    'output_dir': 'run_dir',
    'val': 'test',
    'validation_data': 'test',
    'scheduler': 'schedule',
    'lr_scheduler': 'schedule',
}
_OF_LOADER = frozenset(
    'pin_memory timeout worker_init_fn multiprocessing_context generator prefetch_factor '
    'persistent_workers'.split()
)


def check_arguments(given: Mapping[str, Any]) -> None:
    """Raises Failure for unknown keys and wrong types. `given`: the locals() of join(), in which
    'more' has the further keys."""
    names = set(given) - {'more'}
    types: Mapping[str, Any] = get_type_hints(JobKeys)
    for key, value in given['more'].items():
        if key not in types:
            raise refuse(f'join() has no argument {key}: {_remedy(key, names)}')
        _check(key, value, types[key])
    for key in names & set(_ARGUMENTS):
        if given[key] is not None:
            _check(key, given[key], _ARGUMENTS[key])


def _remedy(key: str, names: set[str]) -> str:
    known = sorted((names - {'self'}) | set(get_type_hints(JobKeys)))
    alias = _ALIASES.get(key)
    if alias in names:
        return f'the same is called {alias}'
    if key in OPTIMIZER_KEYS:
        return (
            f"{key} belongs to the optimizer or its schedule: set it there; job={{'train.{key}': ...}} "
            'overrides it'
        )
    if key in _OF_LOADER and 'loader' in names:
        return f"give it to the DataLoader, as loader={{'{key}': ...}}"
    near = difflib.get_close_matches(key, known, 1)
    if near:
        return f'did you mean {near[0]}?'
    return "correct it; `steelyard help job` lists the keys of a job, others are given as job={'section.key': ...}"


def _check(key: str, value: Any, kind: Any) -> None:
    choices = getattr(kind, '__args__', None)
    if choices is not None:
        if value not in choices:
            raise refuse(f'{key} = {value!r}: give one of {", ".join(map(repr, choices))}')
    elif not _FITS[kind](value):
        raise refuse(f'{key} = {value!r}: give {_EXPECTED[kind]}')


def _is_whole(value: Any) -> bool:
    try:
        operator.index(value)
    except TypeError:
        return False
    return not isinstance(value, bool)


def _is_number(value: Any) -> bool:
    value = value.item() if hasattr(value, 'item') and getattr(value, 'shape', None) == () else value
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


_FITS: dict[Any, Callable[[Any], bool]] = {
    int: _is_whole,
    float: _is_number,
    str: lambda value: isinstance(value, str),
    bool: lambda value: isinstance(value, bool),
}
_EXPECTED = {int: 'a whole number', float: 'a number', str: 'a string', bool: 'True or False'}
