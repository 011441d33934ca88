"""Reads samples of a data set or a stream with DataLoader, on demand or ahead of time.

DataLoader requests prefetch_factor * workers lists from its sampler before the first batch, and one
more with each batch. The sampler must not block then: if no samples are needed yet, it returns an
empty list, which is collated to None.

Training and test samples go through the same loader; test samples are numbered after the training
samples.
"""

from __future__ import annotations

import collections
import copy
import dataclasses
import multiprocessing
import pickle
from typing import Any, Callable, Iterator, MutableMapping, Optional, Sequence, cast

import torch
from torch.utils.data import DataLoader, Sampler, Subset, TensorDataset, default_collate

from steelyard._errors import refuse
from steelyard._reading import Samples
from steelyard._torch_pickling import refuse_interactive, unpicklable
from steelyard._torch_stream import Stream

FIRST_TEST = 2**62  # the number of the first test sample beside a stream


class Source:
    """A data set of the training samples followed by the test samples."""

    def __init__(self, train: Any, test: Any) -> None:
        self.train, self.test = train, test
        self.in_rows = False  # whether default_collate() follows, which may then be left out
        # The number of the first test sample. Numbers of a stream continue through the epochs.
        self.border = FIRST_TEST if isinstance(train, Stream) else len(train)

    @property
    def kind(self) -> str:
        """The class of the training set."""
        return type(self.train.items if isinstance(self.train, Stream) else self.train).__name__

    def __len__(self) -> int:
        return self.border + (len(self.test) if self.test is not None else 0)

    def __getitem__(self, number: int) -> Any:
        border = self.border
        return self.train[number] if number < border else self.test[number - border]

    def __getitems__(self, numbers: Sequence[int]) -> list[Any]:
        """`numbers`: all of training or all of test samples; may be empty."""
        if not numbers:
            return []
        data, first = (self.train, 0) if numbers[0] < self.border else (self.test, self.border)
        its = [it - first for it in numbers]
        rows = _rows_of(data, its) if self.in_rows else None
        if rows is not None:
            return rows
        several = getattr(data, '__getitems__', None)
        if several is not None:
            return list(several(its))
        return [data[it] for it in its]


class _Rows(list):  # type: ignore[type-arg]
    """Samples that are rows of tensors, already as default_collate() would return them."""


def _rows_of(data: Any, numbers: Sequence[int]) -> Optional[_Rows]:
    """The samples of a TensorDataset, or of a Subset of one, with one call for each of its tensors; None for
    others."""
    while type(data) is Subset:
        numbers = [data.indices[it] for it in numbers]
        data = data.dataset
    if type(data) is not TensorDataset:
        return None
    if any(type(it) is not torch.Tensor or it.layout != torch.strided for it in data.tensors):
        return None
    index = torch.tensor(numbers)
    return _Rows(it[index] for it in data.tensors)


class _CollateSome:
    def __init__(self, function: Callable[[list[Any]], Any]) -> None:
        self.function = function

    def __call__(self, samples: list[Any]) -> Any:
        if isinstance(samples, _Rows):
            return list(samples)
        return self.function(samples) if samples else None


class _Wishes(Sampler[Any]):
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
        source.in_rows = collate is None
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

    @property
    def prefetches(self) -> bool:
        return self._loader is not None

    def start(self) -> None:
        """Starts the loader processes and waits until they run. Call it before other threads exist,
        since a fork loses them."""
        if self._loader is None:
            return
        objects, method = self._objects(), self._method()
        if method != 'fork':
            refuse_interactive(objects, method)
        try:
            self._batches = iter(self._loader)
            for _ in range(self._loader.num_workers):  # each process answers the wish for nothing
                self._receive()
        except (EOFError, ConnectionError, RuntimeError) as why:
            raise refuse(
                f'the loader processes could not be started ({why!r}): {method} starts them, and they '
                'import the script, so put its main part under `if __name__ == "__main__":`, and '
                'classes of samples into a file that it imports; or give workers=0'
            ) from why
        except (AttributeError, TypeError, pickle.PicklingError) as why:
            raise unpicklable(objects, method) or why from why

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
            its, batch = self._receive()
            if its and (its in self._ahead or its == samples):
                self._arrived[its] = batch
        return self._arrived.pop(samples)

    def close(self) -> None:
        self._batches = None  # stops the loader processes
        self._arrived.clear()

    def _made(self, workers: int, pin: bool, options: dict[str, Any]) -> DataLoader[Any]:
        if options.get('multiprocessing_context') is None:
            options['multiprocessing_context'] = 'forkserver'
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
                    'arguments batch_size, sampler, num_workers, collate_fn and others of DataLoader'
                )
        return DataLoader(
            cast(Any, self._source),
            batch_sampler=self._wishes,
            num_workers=workers,
            collate_fn=self._collate,
            **options,
        )

    def _receive(self) -> tuple[Samples, Any]:
        """The next batch from the loader processes, and its samples."""
        assert self._batches is not None
        batch = next(self._batches)
        return self._wishes.under_way.popleft(), batch

    def _method(self) -> str:
        """How the loader processes are started."""
        assert self._loader is not None
        return str(self._loader.multiprocessing_context.get_start_method())

    def _objects(self) -> dict[str, Any]:
        """What the loader processes get, by the name of the argument."""
        assert self._loader is not None
        train = self._source.train
        return {
            'train': train.items if isinstance(train, Stream) else train,
            'test': self._source.test,
            'collate': self._collate.function,
            'worker_init_fn': self._loader.worker_init_fn,
        }


def refuse_in_reader() -> None:
    """Raises Failure if a loader process imports a script that calls join() at module level."""
    if getattr(multiprocessing.current_process(), '_inheriting', False):
        raise refuse(
            'join() was called while a loader process imported the script: put the call under '
            '`if __name__ == "__main__":`'
        )


def arguments_of(batch: Any) -> tuple[Any, ...]:
    """The arguments of a function of a batch: the fields of a tuple or list; otherwise the batch."""
    return tuple(batch) if isinstance(batch, (tuple, list)) and not _moves_itself(batch) else (batch,)


def moved(batch: Any, device: torch.device, bring: Optional[Callable[[torch.Tensor], Any]] = None) -> Any:
    """Moves all tensors of a batch to the device, with `bring` if it is given. Objects with a method `to` move
    themselves."""
    if isinstance(batch, torch.Tensor):
        return batch.to(device, non_blocking=True) if bring is None else bring(batch)
    if _moves_itself(batch):  # as BatchEncoding of transformers, and PackedSequence, which is a tuple
        return batch.to(device)
    if isinstance(batch, MutableMapping):
        into: Any = copy.copy(batch)  # keeps its class, and the factory of a defaultdict
        for key, it in batch.items():
            into[key] = moved(it, device, bring)
        return into
    if isinstance(batch, tuple) and hasattr(batch, '_fields'):
        return type(batch)(*(moved(it, device, bring) for it in batch))
    if isinstance(batch, (list, tuple)):
        return type(batch)(moved(it, device, bring) for it in batch)
    if dataclasses.is_dataclass(batch) and not isinstance(batch, type):
        into = copy.copy(batch)
        for field in dataclasses.fields(batch):
            object.__setattr__(into, field.name, moved(getattr(batch, field.name), device, bring))
        return into
    return batch


def _moves_itself(batch: Any) -> bool:
    return callable(getattr(batch, 'to', None))
