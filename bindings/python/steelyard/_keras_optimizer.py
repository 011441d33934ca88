"""What an optimizer of Keras is for the servers: keys of [train], and which weights decay.

The exact classes SGD, Adam and AdamW are translated, where the servers' equations are the same:

  SGD        Keras decays a weight beside the step, not in the gradient. Without momentum this is
             one thing; beside momentum it is refused. Keras has the rate inside of the velocity,
             servers have it outside: one thing while the rate is constant; a schedule beside
             momentum is refused
  Adam       with weight_decay it is AdamW in Keras. Keras adds epsilon to a root that is not yet
             corrected for the beginning, which is epsilon / sqrt(1 - beta_2^t) to the corrected
             one at step t; servers add epsilon to the corrected one. So the denominators of a step
             differ by less than epsilon / sqrt(1 - beta_2): 3e-6 with Keras' defaults at the first
             step, and less later. That matters only to weights whose gradients are no longer than
             this. Above 1e-5 it is refused

A schedule is a function of the round, since each round is one step. It becomes a table.
"""

from __future__ import annotations

import math
from typing import Any

import keras

from steelyard._errors import refuse
from steelyard._schedule import MOST_RATES, Length, table

MOST_EPSILON = 1e-5
# Options that have to be off, and what to do.
_OFF = {
    'amsgrad': 'leave it out',
    'clipnorm': 'servers clip the gradient of all weights at once: give global_clipnorm',
    'clipvalue': 'servers clip the gradient of all weights at once: give global_clipnorm',
    'use_ema': 'leave it out',
    'loss_scale_factor': 'leave it out, and push the gradient of the loss itself',
    'gradient_accumulation_steps': 'leave it out: batch is all samples of one step',
}


def translated(optimizer: Any, length: Length, clip_norm: float) -> tuple[dict[str, Any], float]:
    """Keys of the job file, and the norm that gradients are clipped to. Raises for what servers
    cannot do."""
    kind = type(optimizer)
    if kind not in (keras.optimizers.SGD, keras.optimizers.Adam, keras.optimizers.AdamW):
        raise refuse(
            f'{kind.__module__}.{kind.__qualname__} is no optimizer of the servers: choose '
            'keras.optimizers.SGD, Adam or AdamW'
        )
    for key, remedy in _OFF.items():
        if getattr(optimizer, key, None):
            raise refuse(f'{kind.__name__} with {key} = {getattr(optimizer, key)}: {remedy}')
    if int(keras.ops.convert_to_numpy(optimizer.iterations)):
        raise refuse(
            'the optimizer has taken steps already, and what it remembers of them cannot be '
            'taken over: give join() a new one; resume=True goes on with a job'
        )
    its_norm = float(optimizer.global_clipnorm or 0)
    if its_norm and clip_norm:
        raise refuse(
            'global_clipnorm of the optimizer and clip_norm of join() are one thing: give one of '
            'them'
        )
    rates = _rates(optimizer, length)
    if max(rates) <= 0:
        raise refuse(f'{kind.__name__} with a learning_rate of {max(rates)}: give one above 0')
    keys = _sgd(optimizer, rates) if kind is keras.optimizers.SGD else _adam(optimizer)
    return {
        **keys,
        'train.lr': max(rates),
        'train.weight_decay': float(optimizer.weight_decay or 0),
        **table(rates, 'round', length),
    }, its_norm or clip_norm


def decays(optimizer: Any, variable: Any) -> bool:
    """Whether a weight decays: exclude_from_weight_decay() says."""
    return bool(optimizer._use_weight_decay(variable))


def _sgd(optimizer: Any, rates: list[float]) -> dict[str, Any]:
    momentum = float(optimizer.momentum)
    if not momentum:
        return {'train.optimizer': 'sgd'}
    if len(set(rates)) > 1:
        raise refuse(
            'SGD with momentum and a schedule: Keras has the learning rate inside of the '
            'velocity, and servers have it outside, which differs when the rate changes: give a '
            'constant rate, no momentum, or AdamW'
        )
    if optimizer.weight_decay:
        raise refuse(
            'SGD with momentum and weight_decay: Keras decays weights beside the step, and '
            'servers in the gradient: give AdamW, or no momentum, or add the squares of weights '
            'to the loss'
        )
    return {
        'train.optimizer': 'nesterov' if optimizer.nesterov else 'momentum',
        'train.momentum': momentum,
    }


def _adam(optimizer: Any) -> dict[str, Any]:
    name, epsilon, beta2 = (
        type(optimizer).__name__,
        float(optimizer.epsilon),
        float(optimizer.beta_2),
    )
    most = MOST_EPSILON * math.sqrt(1 - beta2)
    if epsilon > most:
        raise refuse(
            f'{name} with epsilon = {epsilon:g}: Keras adds it to a root that is not yet '
            f'corrected for the beginning, servers to the corrected one: give at most {most:.1e}, '
            'where that makes no difference'
        )
    return {
        'train.optimizer': 'adamw' if optimizer.weight_decay else 'adam',
        'train.beta1': float(optimizer.beta_1),
        'train.beta2': beta2,
        'train.epsilon': epsilon,
    }


def _rates(optimizer: Any, length: Length) -> list[float]:
    """Of each round; a single one if it does not change."""
    rate = optimizer._learning_rate
    if not isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        if callable(rate) and not isinstance(rate, keras.Variable):
            raise refuse(
                'a learning_rate that is a function is not known in advance: give a number, or a '
                'schedule of keras.optimizers.schedules'
            )
        return [_number(rate)]
    rounds = length.whole_epochs * length.rounds_per_epoch
    if rounds > MOST_RATES:
        raise refuse(f'a schedule of {rounds} rounds is too long: give fewer epochs')
    return [_number(rate(it)) for it in range(rounds)]


def _number(rate: Any) -> float:
    number = float(keras.ops.convert_to_numpy(rate))
    if not math.isfinite(number) or number < 0:
        raise refuse(f'a learning rate of {number}: give numbers of at least 0')
    return number
