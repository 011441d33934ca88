"""Translates an optimizer of Keras to keys of [train], and to a decay flag for each weight.

The exact classes SGD, Adam and AdamW are translated, if the servers' equations are equivalent:

  SGD        Keras applies weight decay separately from the step, servers add it to the gradient.
             Without momentum these are equivalent; with momentum weight decay is rejected. Keras
             multiplies the learning rate into the velocity, servers multiply it when they apply the
             velocity. These are equivalent at a constant rate; a schedule with momentum is rejected
  Adam       with weight_decay, Keras computes AdamW. Keras adds epsilon to the root before bias
             correction, which at step t equals adding epsilon / sqrt(1 - beta_2^t) after it;
             servers add epsilon after it. The denominators differ by less than
             epsilon / sqrt(1 - beta_2): 3e-6 with Keras' defaults at the first step, and less
             later. This matters only for gradients of that magnitude or smaller. A difference
             above 1e-5 is rejected

A schedule is a function of the round, since each round is one step. It becomes a table.
"""

from __future__ import annotations

import math
from typing import Any, Optional

import keras

from steelyard._errors import refuse
from steelyard._schedule import MOST_RATES, Length, table

MOST_EPSILON = 1e-5
# Options that must be off, with the remedy.
_OFF = {
    'amsgrad': 'leave it out',
    'clipnorm': 'servers clip the gradient of all weights at once: give global_clipnorm',
    'clipvalue': 'servers clip the gradient of all weights at once: give global_clipnorm',
    'use_ema': 'leave it out',
    'loss_scale_factor': 'leave it out, and push the gradient of the loss itself',
    'gradient_accumulation_steps': 'leave it out: batch already counts all samples of one step',
}


def translated(optimizer: Any, length: Length, clip_norm: float) -> tuple[dict[str, Any], float]:
    """Returns keys of the job file, and the norm for gradient clipping. Raises Failure for options
    that servers do not support."""
    kind = _public(type(optimizer))
    if kind is None:
        kind = type(optimizer)
        raise refuse(
            f'{kind.__module__}.{kind.__qualname__} is no optimizer that servers support: choose '
            'keras.optimizers.SGD, Adam or AdamW'
        )
    for key, remedy in _OFF.items():
        if getattr(optimizer, key, None):
            raise refuse(f'{kind.__name__} with {key} = {getattr(optimizer, key)}: {remedy}')
    if int(keras.ops.convert_to_numpy(optimizer.iterations)):
        raise refuse(
            'the optimizer has taken steps already, and its state cannot be transferred to the '
            'servers: give join() a new one, or continue a job with resume=True'
        )
    its_norm = float(optimizer.global_clipnorm or 0)
    if its_norm and clip_norm:
        raise refuse(
            'global_clipnorm of the optimizer and clip_norm of join() have the same meaning: give '
            'only one of them'
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


def _public(kind: type) -> Optional[type]:
    """The class of keras.optimizers that makes objects of this class, or None if servers do not
    support it. With PyTorch, keras.optimizers.Adam() makes an object of a subclass."""
    supported = (keras.optimizers.SGD, keras.optimizers.Adam, keras.optimizers.AdamW)
    return next((it for it in supported if kind is type(it.__new__(it))), None)


def decays(optimizer: Any, variable: Any) -> bool:
    """Whether weight decay applies to a variable, as set by exclude_from_weight_decay()."""
    return bool(optimizer._use_weight_decay(variable))


def _sgd(optimizer: Any, rates: list[float]) -> dict[str, Any]:
    momentum = float(optimizer.momentum)
    if not momentum:
        return {'train.optimizer': 'sgd'}
    if len(set(rates)) > 1:
        raise refuse(
            'SGD with momentum and a schedule: Keras multiplies the learning rate into the '
            'velocity, servers multiply it when they apply the velocity, and results differ when '
            'the rate changes: give a constant rate, no momentum, or AdamW'
        )
    if optimizer.weight_decay:
        raise refuse(
            'SGD with momentum and weight_decay: Keras applies the decay separately from the step, '
            'servers add it to the gradient: give AdamW, or no momentum, or add an L2 penalty to '
            'the loss'
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
            f'{name} with epsilon = {epsilon:g}: Keras adds it before bias correction, servers add '
            f'it after: give at most {most:.1e}, where the difference is negligible'
        )
    return {
        'train.optimizer': 'adamw' if optimizer.weight_decay else 'adam',
        'train.beta1': float(optimizer.beta_1),
        'train.beta2': beta2,
        'train.epsilon': epsilon,
    }


def _rates(optimizer: Any, length: Length) -> list[float]:
    """The learning rate of each round; a single one if it is constant."""
    rate = optimizer._learning_rate
    if not isinstance(rate, keras.optimizers.schedules.LearningRateSchedule):
        if callable(rate) and not isinstance(rate, keras.Variable):
            raise refuse(
                'learning_rate is a function, so the rates are not known in advance: give a number, '
                'or a schedule of keras.optimizers.schedules'
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
