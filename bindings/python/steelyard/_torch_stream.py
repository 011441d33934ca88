"""Reads a stream by position: samples are the items in the order in which each worker reads them.

Every worker iterates the whole stream in each epoch, keeps the items of its pieces, and drops the others.
Items of the last two rounds are kept, because the pieces of a worker that was lost are dealt out again in
the same round. An earlier item makes the reader start the stream again.
"""

from __future__ import annotations

import warnings
from typing import Any, Iterator, Optional, Sequence

from torch.utils.data import IterableDataset

from steelyard._errors import Failure, refuse
from steelyard._random_states import RandomStates

ROUNDS = 2  # whose items are kept: the current one, and the next one for reading ahead


class Stream:
    """An iterable as a data set: number epoch * samples + position is an item. `batch`: samples of a
    round."""

    def __init__(self, items: Any, samples: int, batch: int) -> None:
        self.items, self.samples = items, samples
        self.restarts = 0
        self._most_kept = ROUNDS * batch
        self._kept: dict[int, Any] = {}  # by number, in the order of reading
        self._iterator: Optional[Iterator[Any]] = None
        self._epoch = 0  # of the iterator
        self._next = 0  # the number of its next item
        self._states = RandomStates('')

    def __len__(self) -> int:
        return self.samples

    def __getitem__(self, number: int) -> Any:
        return self.__getitems__((number,))[0]

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        return [self._kept[it] if it in self._kept else self._read(it) for it in numbers]

    def _read(self, number: int) -> Any:
        epoch = number // self.samples
        if self._iterator is not None and number < self._next:
            self._count_restart()
        if self._iterator is None or number < self._next or epoch != self._epoch:
            self._begin(epoch)
        with self._states:
            while self._next <= number:
                self._kept[self._next] = self._item()
                self._next += 1
                if len(self._kept) > self._most_kept:
                    del self._kept[next(iter(self._kept))]
        return self._kept[number]

    def _begin(self, epoch: int) -> None:
        self._epoch, self._next = epoch, epoch * self.samples
        self._states = RandomStates(f'stream {epoch}')
        with self._states:
            if hasattr(self.items, 'set_epoch'):
                self.items.set_epoch(epoch)
            self._iterator = iter(self.items)

    def _item(self) -> Any:
        assert self._iterator is not None
        try:
            return next(self._iterator)
        except StopIteration:
            found = self._next - self._epoch * self.samples
            raise Failure(
                f'train ended after {found} samples in epoch {self._epoch}, but an epoch has '
                f'{self.samples}: '
                + (
                    f'give samples={found} or fewer'
                    if found
                    else 'it can be read only once; give an object whose __iter__ starts it again'
                )
            ) from None

    def _count_restart(self) -> None:
        self.restarts += 1
        if self.restarts == 1:
            warnings.warn(
                'steelyard: the stream is read again from its start, for samples that another worker '
                f'has lost and that are more than {ROUNDS} rounds back; this takes the time of reading '
                'the epoch so far',
                stacklevel=2,
            )


def is_stream(data: Any) -> bool:
    """Whether samples have no numbers."""
    return isinstance(data, IterableDataset) or (
        not hasattr(data, '__getitem__') and hasattr(data, '__iter__')
    )


def stream_of(items: Any, samples: Optional[int], batch: int) -> Stream:
    if hasattr(items, '__next__'):
        raise refuse(
            f'train is a {type(items).__name__}, which can be read only once: give an object whose '
            '__iter__ starts it again, such as an IterableDataset, so that each epoch can read it'
        )
    if samples is None:
        try:
            samples = len(items)
        except TypeError as why:
            raise refuse(
                'train is a stream without a length: give samples=, the samples of an epoch'
            ) from why
    if int(samples) < 1:
        raise refuse(f'samples = {samples}: give the number of samples of an epoch, at least 1')
    return Stream(items, int(samples), batch)
