"""A piece of a round, cut into micro-batches; for loops of any framework.

Frameworks that compile for one shape want micro-batches of one size. Then the grain of shares is
that size, so that a piece is a whole number of micro-batches; only at the end of a round, if the
batch is no multiple, and at the end of an epoch one is shorter. It is filled up with its own
samples in turn, whose weights are zero: numbers that no sample has (zeros, whose logarithm is asked
for) are never computed with, and the statistics of batch norm stay those of these samples, or
nearly so.

Weights sum to the size of the micro-batch, whatever its count of samples is: mean(weights * losses)
and the weighted mean are then one number, the mean over the samples.
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
    """What has been computed of a task."""

    samples: int
    weight: float = 0.0
    gradient: Any = (
        None  # the sum of weight times gradient, in the framework's arrays; None: nothing yet
    )
    losses: list[tuple[Any, int]] = dataclasses.field(
        default_factory=list
    )  # means, and of how many samples

    def loss(self) -> float:
        """The sum over samples."""
        return sum(float(mean) * count for mean, count in self.losses)


def divided(samples: Sequence[int], size: int) -> list[Samples]:
    """Lists of `size` samples, from the beginning of the piece; the last one may be shorter."""
    return [tuple(samples[at : at + size]) for at in range(0, len(samples), size)]


def filled(count: int, size: int) -> list[int]:
    """Which of `count` samples stand in a micro-batch of `size`: all of them, and again in turn."""
    return [at % count for at in range(size)]


def weights_of(count: int, size: int) -> list[float]:
    """Of the samples in a micro-batch of `size` whose first `count` count."""
    return [size / count] * count + [0.0] * (size - count)


def weight_of(weight: Any, count: int) -> float:
    """How often the gradient of a micro-batch of `count` samples counts, if the user said
    `weight`."""
    if weight is None:
        return float(count)
    number = float(weight)
    if not math.isfinite(number) or number < 0:
        raise refuse(
            f'weight = {number}: give the number of samples, or tokens, that the loss is a mean of'
        )
    return number


def piece_seed(seed: int, task: Task) -> int:
    """Dropout belongs to the piece, whoever computes it."""
    mark = hashlib.blake2b(f'{seed} {task.epoch} {task.position}'.encode(), digest_size=8)
    return int.from_bytes(mark.digest(), 'little') >> 1


def dividing(batch: int, about: int = ABOUT) -> int:
    """A size of micro-batches for all of a job: it divides the batch, and is at most `about` unless
    that were tiny."""
    below = max(it for it in range(1, min(batch, about) + 1) if batch % it == 0)
    if below >= min(batch, 8):
        return below
    return min(it for it in range(about, batch + 1) if batch % it == 0)
