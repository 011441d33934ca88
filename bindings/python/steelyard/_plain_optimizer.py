"""Translates {'name': 'adamw', 'lr': 0.001, 'weight_decay': 0.01} to keys of [train]."""

from __future__ import annotations

from typing import Any, Mapping

from steelyard._errors import refuse

_OPTIONS = {
    'sgd': (),
    'momentum': ('momentum',),
    'nesterov': ('momentum',),
    'adam': ('beta1', 'beta2', 'epsilon'),
    'adamw': ('beta1', 'beta2', 'epsilon'),
    'lars': ('momentum', 'trust'),
    'lamb': ('beta1', 'beta2', 'epsilon'),
}
_OF_ALL = (
    'lr',
    'weight_decay',
    'schedule',
    'warmup',
    'step_epochs',
    'step_factor',
    'final_lr',
    'rates',
)


def translated(optimizer: Mapping[str, Any]) -> dict[str, Any]:
    """Returns keys of the job file. Raises Failure for unknown names; servers check the numbers."""
    if not isinstance(optimizer, Mapping):
        raise refuse(
            f'optimizer is a {type(optimizer).__name__}: servers take the steps, so give its name '
            "and numbers, as in optimizer={'name': 'adamw', 'lr': 0.001, 'weight_decay': 0.01}"
        )
    kind = optimizer.get('name')
    if kind not in _OPTIONS:
        raise refuse(f'optimizer has the name {kind!r}: choose one of {", ".join(_OPTIONS)}')
    if 'lr' not in optimizer and 'rates' not in optimizer:
        raise refuse(f'optimizer {kind} has no lr: give its learning rate')
    known = (*_OPTIONS[kind], *_OF_ALL)
    for key in optimizer:
        if key != 'name' and key not in known:
            raise refuse(
                f'optimizer {kind} has no {key}: choose from {", ".join(known)}; `steelyard help '
                'job` explains them'
            )
    keys = {f'train.{key}': value for key, value in optimizer.items() if key != 'name'}
    return {'train.optimizer': kind, **keys}
