"""Cuts a piece of a round into micro-batches; for all frameworks.

Frameworks that compile for fixed shapes need micro-batches of one size. That size is then the grain,
so that a piece is a whole number of micro-batches. Only the last one of a round or epoch may be
shorter. It is padded by repeating its own samples with weight zero. So no artificial values are
computed (such as the logarithm of zeros), and the statistics of batch norm are nearly unchanged.

Weights sum to the size of the micro-batch, including padding. Therefore mean(weights * losses) is
the mean over the real samples.
"""

from __future__ import annotations

import dataclasses
import hashlib
import math
from typing import Any, Sequence

from steelyard._errors import refuse
from steelyard._reading import Samples
from steelyard._worker import Task

ABOUT = 32


@dataclasses.dataclass
class Piece:
    """Accumulated results of a task."""

    samples: int
    weight: float = 0.0
    gradient: Any = (
        None  # the sum of weight times gradient, in the framework's arrays; None: nothing yet
    )
    losses: list[tuple[Any, float]] = dataclasses.field(
        default_factory=list
    )  # (mean loss, weight) of each micro-batch

    def loss(self) -> float:
        """The weighted sum of the losses."""
        return sum(float(mean) * weight for mean, weight in self.losses)


def divided(samples: Sequence[int], size: int) -> list[Samples]:
    """Splits samples into micro-batches of `size`; the last one may be shorter."""
    return [tuple(samples[at : at + size]) for at in range(0, len(samples), size)]


def filled(count: int, size: int) -> list[int]:
    """Indices that pad `count` samples to `size` by repeating them cyclically."""
    return [at % count for at in range(size)]


def weights_of(count: int, size: int) -> list[float]:
    """Weights for a micro-batch of `size` with `count` real samples at the front; the sum is `size`."""
    return [size / count] * count + [0.0] * (size - count)


def weight_of(weight: Any, count: int) -> float:
    """The weight of a micro-batch: the user's `weight`, or its number of samples if that is None."""
    if weight is None:
        return float(count)
    number = float(weight)
    if not math.isfinite(number) or number < 0:
        raise refuse(
            f'weight = {number}: give the number of samples or tokens that the loss is the mean over'
        )
    return number


def piece_seed(seed: int, task: Task) -> int:
    """The random seed of a piece, for dropout: the same on every worker that computes it."""
    mark = hashlib.blake2b(f'{seed} {task.epoch} {task.position}'.encode(), digest_size=8)
    return int.from_bytes(mark.digest(), 'little') >> 1


def dividing(batch: int, about: int = ABOUT) -> int:
    """Chooses one micro-batch size for a job: the largest divisor of the batch up to `about`. If that
    is below 8 (or below a smaller batch), the smallest divisor from `about` up."""
    below = max(it for it in range(1, min(batch, about) + 1) if batch % it == 0)
    if below >= min(batch, 8):
        return below
    return min(it for it in range(about, batch + 1) if batch % it == 0)
