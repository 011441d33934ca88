"""The order of the samples of an epoch: shuffled by the servers' rule, fixed, or drawn by a sampler.

The job deals positions of an epoch. An order maps them to sample numbers, and must be equal on all
workers, also on one that joins in a later epoch. So a sampler draws the list of an epoch from the job's
seed and the epoch alone; a sampler whose list depends on more is refused.
"""

from __future__ import annotations

import array
import hashlib
from typing import Any, Iterable, Optional, Sequence

import torch
from torch.utils.data import DistributedSampler, RandomSampler, SequentialSampler

from steelyard._errors import Failure, refuse
from steelyard._joining import checked_batch
from steelyard._random_states import RandomStates

# The sample numbers of an epoch, and the ends of its groups.
Drawn = tuple['array.array[int]', 'array.array[int]']
KEPT = 2  # epochs whose lists are kept: the current one, and the next one for reading ahead


class Order:
    """The order in which the job shuffles samples, if no other is chosen. `length`: samples of an epoch.
    `mark`: text that differs between different orders."""

    own = False  # whether numbers() gives the order

    def __init__(self, length: int, mark: str = 'shuffled') -> None:
        self.length, self.mark = length, mark

    def numbers(self, seed: int, epoch: int, begin: int, end: int) -> Sequence[int]:
        """Sample numbers at positions [begin, end) of an epoch."""
        raise NotImplementedError

    def ends(self, seed: int, epoch: int) -> Optional[Sequence[int]]:
        """Positions at which groups of samples end that belong together; None without groups."""
        return None


class FixedOrder(Order):
    """The order of the data set, shuffle=False."""

    own = True

    def __init__(self, length: int) -> None:
        super().__init__(length, 'fixed order')

    def numbers(self, seed: int, epoch: int, begin: int, end: int) -> Sequence[int]:
        return range(begin, end)


class StreamOrder(FixedOrder):
    """The order of a stream: its samples are numbered through all epochs. `samples`: of an epoch, of
    which the first `length` are used."""

    def __init__(self, samples: int, length: int) -> None:
        super().__init__(length)
        self._samples = samples
        self.mark = f'stream of {samples}'

    def numbers(self, seed: int, epoch: int, begin: int, end: int) -> Sequence[int]:
        first = epoch * self._samples
        return range(first + begin, first + end)


class SampledOrder(Order):
    """The order that a sampler draws. `name`: of the argument. `samples`: of the data set. `length`: how
    many samples of each list are used; default: all. `grouped`: the sampler yields lists, each of samples
    that belong together."""

    own = True

    def __init__(
        self,
        sampler: Any,
        name: str,
        samples: int,
        length: Optional[int] = None,
        grouped: bool = False,
    ) -> None:
        self._sampler, self._samples, self._grouped = sampler, samples, grouped
        self._name = f'{name}={type(sampler).__name__}'
        self._kept: dict[tuple[int, int], Drawn] = {}
        first, self.group_ends = self._draw(0, 0)
        if self._draw(0, 0) != (first, self.group_ends):
            raise refuse(
                f'{self._name} yields another list if it is started again from the same seed, so '
                'workers would not agree: draw from the generators of torch, random or numpy.random, '
                'and start afresh in each __iter__'
            )
        self.drawn = len(first)  # samples of an epoch
        mark = hashlib.blake2b(digest_size=8)
        for numbers in (first, self.group_ends):
            mark.update(numbers.tobytes())
        super().__init__(
            self.drawn if length is None else length, f'{self._name} {mark.hexdigest()}'
        )

    def numbers(self, seed: int, epoch: int, begin: int, end: int) -> Sequence[int]:
        return self._of(seed, epoch)[0][begin:end].tolist()

    def ends(self, seed: int, epoch: int) -> Optional[Sequence[int]]:
        return self._of(seed, epoch)[1] if self._grouped else None

    def _of(self, seed: int, epoch: int) -> Drawn:
        if (seed, epoch) not in self._kept:
            drawn = self._draw(seed, epoch)
            if len(drawn[0]) != self.drawn:
                raise Failure(
                    f'{self._name} yields {len(drawn[0])} samples in epoch {epoch} and {self.drawn} '
                    'in epoch 0: all epochs of a job have the same number of samples'
                )
            while len(self._kept) >= KEPT:
                del self._kept[min(self._kept)]
            self._kept[seed, epoch] = drawn
        return self._kept[seed, epoch]

    def _draw(self, seed: int, epoch: int) -> Drawn:
        """The list of an epoch, and the ends of its groups."""
        numbers, ends = array.array('q'), array.array('q')  # 8 bytes a sample
        with RandomStates(f'{seed} {epoch}', self._sampler):
            if hasattr(self._sampler, 'set_epoch'):
                self._sampler.set_epoch(epoch)
            for drawn in self._sampler:
                if self._grouped:
                    numbers.extend(self._checked(drawn))
                    ends.append(len(numbers))
                else:
                    numbers.extend(self._checked((drawn,)))
        return numbers, ends

    def _checked(self, drawn: Iterable[Any]) -> list[int]:
        try:
            numbers = [it.__index__() for it in drawn]
        except (AttributeError, TypeError) as why:
            form = 'lists of whole numbers' if self._grouped else 'whole numbers'
            raise refuse(f'{self._name} yields {drawn!r}: give {form}') from why
        for number in numbers:
            if not 0 <= number < self._samples:
                raise refuse(
                    f'{self._name} yields {number}, but train has {self._samples} samples: give '
                    f'numbers from 0 to {self._samples - 1}'
                )
        return numbers


def order_of(
    train: Any,
    batch: int,
    *,
    shuffle: Optional[bool] = None,
    sampler: Any = None,
    drop_last: bool = False,
    generator: Optional[torch.Generator] = None,
) -> Order:
    """The order of a data set with a length. `shuffle`: None: unless there is a sampler."""
    if sampler is not None:
        if shuffle:
            raise refuse('shuffle=True with sampler: the sampler gives the order; leave shuffle out')
        _refuse_sampler(sampler, 'sampler')
        if type(sampler) in (RandomSampler, SequentialSampler) and _is_default(sampler, train):
            shuffle = type(sampler) is RandomSampler
        else:
            return _sampled(sampler, len(train), batch, drop_last)
    length = used(len(train), batch, drop_last)
    if shuffle is not None and not shuffle:
        return FixedOrder(length)
    if length == len(train) and generator is None:
        return Order(length)
    return SampledOrder(RandomSampler(train, generator=generator), 'sampler', len(train), length)


def _sampled(sampler: Any, samples: int, batch: int, drop_last: bool) -> Order:
    kind = type(sampler).__name__
    try:
        count = len(sampler)
    except TypeError as why:
        raise refuse(
            f'sampler={kind} has no length: give it __len__, the number of samples of an epoch'
        ) from why
    order = SampledOrder(sampler, 'sampler', samples, used(count, batch, drop_last))
    if order.drawn != count:
        raise refuse(
            f'sampler={kind} yields {order.drawn} samples, but its length is {count}: correct __len__'
        )
    return order


def grouped_order(train: Any, batch_sampler: Any, batch: Optional[int]) -> tuple[Order, int]:
    """The order of a batch sampler, and the global batch: by default the length of its lists."""
    _refuse_sampler(batch_sampler, 'batch_sampler')
    order = SampledOrder(batch_sampler, 'batch_sampler', len(train), grouped=True)
    ends = order.group_ends
    if not ends:
        raise refuse('batch_sampler yields no lists: give one with at least one sample')
    sizes = [end - begin for begin, end in zip([0, *ends], ends)]
    if batch is None:
        if len(set(sizes[:-1])) > 1 or sizes[-1] > sizes[0]:
            raise refuse(
                f'batch_sampler yields lists of {min(sizes)} to {max(sizes)} samples, but all rounds '
                'have the same number of samples: give batch=, the samples of a round; a micro-batch '
                'then lies within one list'
            )
        batch = sizes[0]
    return order, checked_batch(batch)


def refuse_uneven_groups(order: Order, batch: int) -> None:
    """Raises Failure if a batch sampler's lists are not the rounds, for models with batch norm."""
    ends = order.group_ends if isinstance(order, SampledOrder) else ()
    if any(end % batch != 0 for end in ends[:-1]):
        raise refuse(
            'batch_sampler with batch norm, which needs micro-batches of one size: let all lists have '
            'the length of the batch, or give a sampler with the same order as sampler='
        )


def _refuse_sampler(sampler: Any, name: str) -> None:
    inner = getattr(sampler, 'sampler', None)  # of a BatchSampler
    if isinstance(sampler, DistributedSampler) or isinstance(inner, DistributedSampler):
        raise refuse(
            f'{name} has a DistributedSampler, but the job divides each batch among the workers '
            'itself: leave it out; shuffle=False keeps the order of the data set'
        )
    if not hasattr(sampler, '__iter__') or hasattr(sampler, '__next__'):
        raise refuse(
            f'{name}={type(sampler).__name__} can be read only once: give a Sampler of '
            'torch.utils.data, or a list'
        )


def _is_default(sampler: Any, train: Any) -> bool:
    """Whether a sampler is one that DataLoader makes from shuffle=, without a generator of its own."""
    own = getattr(sampler, 'replacement', False) or getattr(sampler, 'generator', None) is not None
    return not own and len(sampler) == len(train)


def used(samples: int, batch: int, drop_last: bool) -> int:
    """The samples of an epoch; with `drop_last`, without its last incomplete batch."""
    length = samples - samples % batch if drop_last else samples
    if length == 0:
        raise refuse(
            f'drop_last=True leaves no samples: an epoch has {samples}, fewer than the batch of '
            f'{batch}: give a smaller batch'
            if samples
            else 'train has no samples'
        )
    return length
