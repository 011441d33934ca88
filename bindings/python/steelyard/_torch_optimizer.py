"""Translates a torch optimizer and its LR scheduler to keys of [train], and to factors for each
parameter.

The exact classes SGD, Adam and AdamW are translated. Options that servers do not support are
rejected by name. Groups may differ only in `lr` and `weight_decay`, which become factors on the
job's values.
"""

from __future__ import annotations

import copy
import dataclasses
import math
import warnings
from typing import Any

import torch

from steelyard._errors import refuse
from steelyard._schedule import MOST_RATES, Length, table

# Options that need no translation here: they affect only speed or memory, or are handled elsewhere.
_FREE = frozenset(
    (
        'params',
        'lr',
        'weight_decay',
        'initial_lr',
        'foreach',
        'fused',
        'capturable',
        'differentiable',
        'param_names',
        'name',
        'swap_lr',
    )
)
# Options that must be off, with the remedy.
_OFF = {
    'amsgrad': 'leave amsgrad out',
    'dampening': 'leave dampening out: it is 0 on the servers',
    'maximize': 'leave maximize out, and give the negative loss to job.backward()',
}


@dataclasses.dataclass(frozen=True)
class Factors:
    """Factors of one parameter on the job's learning rate and weight decay."""

    rate: float = 1.0
    decay: float = 1.0


@dataclasses.dataclass(frozen=True)
class Translation:
    """`keys`: {"train.optimizer": "momentum", ...}. `factors`: by id() of each parameter of the
    optimizer."""

    keys: dict[str, Any]
    factors: dict[int, Factors]


def translate(
    optimizer: torch.optim.Optimizer, schedule: Any, per: str, length: Length
) -> Translation:
    """Raises Failure for optimizers, options and schedules that servers do not support."""
    kind, keys = _kind_of(optimizer)
    groups = optimizer.param_groups
    if any(optimizer.state.values()):
        raise refuse(
            'the optimizer has taken steps already, and its state cannot be transferred to the '
            'servers: give join() a new one, or continue a job with resume=True'
        )
    rates = _rates(optimizer, schedule, per, length)
    lead = max(range(len(groups)), key=lambda it: max(row[it] for row in rates))
    highest = max(rates, key=lambda row: row[lead])
    if highest[lead] <= 0:
        raise refuse(f'{kind} with lr = {highest[lead]}: give at least one group a rate above 0')
    factors = [rate / highest[lead] for rate in highest]
    _require_ratios(rates, lead, factors)
    decays = [_number(group['weight_decay']) for group in groups]
    decay = max(decays)
    keys.update({'train.lr': highest[lead], 'train.weight_decay': decay})
    keys.update(table([row[lead] for row in rates], per, length))
    by_parameter = {
        id(parameter): Factors(factor, its_decay / decay if decay else 1.0)
        for group, factor, its_decay in zip(groups, factors, decays)
        for parameter in group['params']
    }
    return Translation(keys, by_parameter)


def _kind_of(optimizer: torch.optim.Optimizer) -> tuple[str, dict[str, Any]]:
    kind = type(optimizer)
    if kind not in (torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW):
        raise refuse(
            f'{kind.__module__}.{kind.__qualname__} is no optimizer that servers support: choose '
            'torch.optim.SGD, Adam or AdamW'
        )
    name = kind.__name__
    first = optimizer.param_groups[0]
    for number, group in enumerate(optimizer.param_groups):
        for key, value in group.items():
            if key in _OFF and value:
                raise refuse(f'{name} with {key} = {value}: {_OFF[key]}')
            if key == 'differentiable' and value:
                raise refuse(
                    f'{name} with differentiable = True: servers take the steps, so leave it out'
                )
            if key not in _FREE and key in optimizer.defaults and value != first.get(key):
                raise refuse(
                    f'{name}: group {number} has {key} = {value}, and group 0 has '
                    f'{first.get(key)}: groups may differ in lr and weight_decay only'
                )
    return name, _sgd_keys(first) if kind is torch.optim.SGD else _adam_keys(name, first)


def _sgd_keys(group: dict[str, Any]) -> dict[str, Any]:
    momentum = _number(group['momentum'])
    if not momentum:
        return {'train.optimizer': 'sgd'}
    word = 'nesterov' if group['nesterov'] else 'momentum'
    return {'train.optimizer': word, 'train.momentum': momentum}


def _adam_keys(name: str, group: dict[str, Any]) -> dict[str, Any]:
    decoupled = group.get('decoupled_weight_decay', name == 'AdamW')
    beta1, beta2 = (_number(it) for it in group['betas'])
    return {
        'train.optimizer': 'adamw' if decoupled else 'adam',
        'train.beta1': beta1,
        'train.beta2': beta2,
        'train.epsilon': _number(group['eps']),
    }


def _number(value: Any) -> float:
    number = float(value)
    if not math.isfinite(number) or number < 0:
        raise refuse(f'an option of the optimizer is {number}: give a finite number of at least 0')
    return number


# ---- schedules


def _rates(
    optimizer: torch.optim.Optimizer, schedule: Any, per: str, length: Length
) -> list[list[float]]:
    """The learning rate of each group, for each epoch or round."""
    now = [[_number(group['lr']) for group in optimizer.param_groups]]
    if schedule is None:
        if any('initial_lr' in group for group in optimizer.param_groups):
            raise refuse(
                'the optimizer has a scheduler, which join() was not given, so its rates would be '
                'ignored: give it as schedule=, with schedule_per="epoch" or "round"; or make the '
                'optimizer anew, without one'
            )
        return now
    if per not in ('epoch', 'round'):
        raise refuse(f'schedule_per = {per!r}: give "epoch" or "round"')
    steps = length.whole_epochs * (length.rounds_per_epoch if per == 'round' else 1)
    if steps > MOST_RATES:
        raise refuse(f'a schedule of {steps} rounds is too long: give schedule_per="epoch"')
    clone, dummy = _dummy(optimizer, schedule)
    others = _other_options(dummy)
    with warnings.catch_warnings():
        warnings.simplefilter('ignore')  # torch warns about scheduler.step() without optimizer.step()
        for _ in range(steps - 1):
            clone.step()
            now.append([_number(group['lr']) for group in dummy.param_groups])
            if _other_options(dummy) != others:
                raise refuse(
                    f'{type(schedule).__name__} changes more than lr: on servers momentum, betas '
                    'and weight decay are constant during a job: give cycle_momentum=False'
                )
    return now


def _dummy(optimizer: torch.optim.Optimizer, schedule: Any) -> tuple[Any, torch.optim.Optimizer]:
    """A copy of the scheduler, on a dummy optimizer with the same groups and parameters of one
    element."""
    name = type(schedule).__name__
    if isinstance(schedule, torch.optim.lr_scheduler.ReduceLROnPlateau):
        raise refuse(
            'ReduceLROnPlateau depends on results that are not known in advance: choose a '
            'scheduler that depends only on epochs or rounds'
        )
    if getattr(schedule, 'optimizer', None) is not optimizer:
        raise refuse(
            f'schedule = {name}: give a scheduler of torch.optim.lr_scheduler that was made '
            'with the optimizer of join()'
        )
    groups = []
    for group in optimizer.param_groups:
        options = {
            key: value for key, value in group.items() if key not in ('params', 'param_names')
        }
        if isinstance(options['lr'], torch.Tensor):
            options['lr'] = options['lr'].detach().clone()
        groups.append({'params': [torch.zeros(1, requires_grad=True)], **options})
    dummy = type(optimizer)(groups, lr=1.0)
    try:
        return copy.deepcopy(schedule, {id(optimizer): dummy}), dummy
    except Exception as why:
        raise refuse(
            f'{name} cannot be copied to compute its rates in advance ({why}): give a LambdaLR '
            'with the same rates'
        ) from why


def _other_options(optimizer: torch.optim.Optimizer) -> list[Any]:
    return [
        {key: group.get(key) for key in ('momentum', 'betas', 'weight_decay')}
        for group in optimizer.param_groups
    ]


def _require_ratios(rates: list[list[float]], lead: int, factors: list[float]) -> None:
    for number, row in enumerate(rates):
        for group, (rate, factor) in enumerate(zip(row, factors)):
            if abs(rate - factor * row[lead]) > 1e-6 * max(rate, factor * row[lead]):
                raise refuse(
                    f'at step {number} of the schedule group {group} has lr = {rate:g}, which '
                    f'is not {factor:g} times that of group {lead} as at other steps: give a '
                    'schedule that keeps the ratios between groups'
                )
