"""Reads samples of a map-style data set with DataLoader, on demand or ahead of time.

DataLoader requests prefetch_factor * workers lists from its sampler before the first batch, and one
more with each batch. The sampler must not block then: if no samples are needed yet, it returns an
empty list, which is collated to None.

Training and test samples go through the same loader; test samples are numbered after the training
samples.
"""

from __future__ import annotations

import collections
import multiprocessing
from typing import Any, Callable, Iterator, Optional, Sequence

import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler, default_collate

from steelyard._errors import refuse
from steelyard._reading import Samples


class Source:
    """A data set of the training samples followed by the test samples."""

    def __init__(self, train: Any, test: Any) -> None:
        self.train, self.test, self._border = train, test, len(train)

    def __len__(self) -> int:
        return self._border + (len(self.test) if self.test is not None else 0)

    def __getitem__(self, number: int) -> Any:
        border = self._border
        return self.train[number] if number < border else self.test[number - border]

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """`numbers`: all of training or all of test samples; may be empty."""
        if not numbers:
            return []
        data, first = (self.train, 0) if numbers[0] < self._border else (self.test, self._border)
        several = getattr(data, '__getitems__', None)
        if several is not None:
            return several([it - first for it in numbers])
        return [data[it - first] for it in numbers]


class _CollateSome:
    def __init__(self, collate: Callable[[list[Any]], Any]) -> None:
        self._collate = collate

    def __call__(self, samples: list[Any]) -> Any:
        return self._collate(samples) if samples else None


class _Wishes(Sampler):
    """Yields the requested lists of samples in order; empty lists if none is requested."""

    def __init__(self) -> None:
        self.waiting: collections.deque[Samples] = collections.deque()
        self.under_way: collections.deque[Samples] = collections.deque()  # given to DataLoader, in order

    def __iter__(self) -> Iterator[list[int]]:
        while True:
            wish = self.waiting.popleft() if self.waiting else ()
            self.under_way.append(wish)
            yield list(wish)


class Reader:
    """`workers`: number of loader processes; with 0, this process reads on demand. `options`: for
    DataLoader."""

    def __init__(
        self,
        source: Source,
        collate: Optional[Callable[[list[Any]], Any]] = None,
        workers: int = 0,
        pin: bool = False,
        options: Optional[dict[str, Any]] = None,
    ) -> None:
        self._source = source
        self._collate = _CollateSome(collate or default_collate)
        self._batches: Optional[Iterator[Any]] = None
        self._arrived: dict[Samples, Any] = {}
        self._ahead: set[Samples] = set()
        self._wishes = _Wishes()
        self._loader = self._made(workers, pin, dict(options or {})) if workers > 0 else None
        if not workers and options:
            raise refuse(
                f'loader = {options}: these options need loader processes: give workers=1 or more'
            )

    def start(self) -> None:
        """Starts the loader processes. Call it before other threads exist, since a fork loses them."""
        if self._loader is not None:
            self._batches = self._begin()

    def expect(self, needed: Sequence[Samples], ahead: Sequence[Samples]) -> None:
        """Announces calls of get(): surely for `needed`, in this order; perhaps later for `ahead`."""
        if self._loader is None:
            return
        self._ahead = set(ahead) | set(needed)
        self._arrived = {it: batch for it, batch in self._arrived.items() if it in self._ahead}
        coming = set(self._arrived) | set(self._wishes.under_way)
        self._wishes.waiting.clear()
        for wish in [*needed, *ahead]:
            if wish not in coming:
                self._wishes.waiting.append(wish)

    def get(self, samples: Samples) -> Any:
        """Returns the collated batch of these samples."""
        if self._loader is None:
            return self._collate(self._source.__getitems__(samples))
        if self._batches is None:
            self.start()
        while samples not in self._arrived:
            wishes = self._wishes
            if samples not in wishes.under_way and samples not in wishes.waiting:
                wishes.waiting.appendleft(samples)
            batch = next(self._batches)
            its = wishes.under_way.popleft()
            if its and (its in self._ahead or its == samples):
                self._arrived[its] = batch
        return self._arrived.pop(samples)

    def close(self) -> None:
        self._batches = None  # stops the loader processes
        self._arrived.clear()

    def _made(self, workers: int, pin: bool, options: dict[str, Any]) -> DataLoader:
        options.setdefault('multiprocessing_context', 'forkserver')
        options.setdefault('pin_memory', pin)
        for key in (
            'dataset',
            'batch_size',
            'shuffle',
            'sampler',
            'batch_sampler',
            'drop_last',
            'num_workers',
            'collate_fn',
            'in_order',
        ):
            if key in options:
                raise refuse(
                    f'loader has {key}, which join() sets itself: leave it out; join() has the '
                    'arguments batch, micro_batch, workers and collate'
                )
        return DataLoader(
            self._source,
            batch_sampler=self._wishes,
            num_workers=workers,
            collate_fn=self._collate,
            **options,
        )

    def _begin(self) -> Iterator[Any]:
        try:
            return iter(self._loader)  # type: ignore[arg-type]
        except (EOFError, ConnectionError, RuntimeError) as why:
            raise refuse(
                f'the loader processes could not be started ({why!r}): they import the script, '
                'so put its main part under `if __name__ == "__main__":`; or give workers=0'
            ) from why


def refuse_in_reader() -> None:
    """Raises Failure if a loader process imports a script that calls join() at module level."""
    if getattr(multiprocessing.current_process(), '_inheriting', False):
        raise refuse(
            'join() was called while a loader process imported the script: put the call under '
            '`if __name__ == "__main__":`'
        )


def source_of(train: Any, test: Any) -> Source:
    for name, data in (('train', train), ('test', test)):
        if data is None:
            continue
        if isinstance(data, DataLoader):
            raise refuse(
                f'{name} is a DataLoader: give join() its data set, and the options as workers, '
                'collate and loader'
            )
        if isinstance(data, IterableDataset) or not hasattr(data, '__getitem__'):
            raise refuse(
                f'{name} has no samples by number: give a data set with __getitem__ and __len__'
            )
        try:
            length = len(data)
        except TypeError as why:
            raise refuse(f'{name} has no length: give a data set with __len__') from why
        if length == 0 and name == 'train':
            raise refuse('train has no samples')
    return Source(train, test)


def moved(batch: Any, device: torch.device) -> Any:
    """Moves all tensors of a batch to the device."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True)
    if isinstance(batch, dict):
        return type(batch)({key: moved(it, device) for key, it in batch.items()})
    if isinstance(batch, tuple) and hasattr(batch, '_fields'):
        return type(batch)(*(moved(it, device) for it in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(moved(it, device) for it in batch)
    return batch.to(device) if hasattr(batch, 'to') else batch
