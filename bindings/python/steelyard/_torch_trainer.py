"""The training batches of a trainer that keeps its own loop: Lightning, transformers, Accelerate.

A trainer iterates over a DataLoader once an epoch, and knows its length. Batches takes the place of that
DataLoader: it yields this worker's shares of the same batches. A global batch has the size that the trainer
uses in one process. Numbers of epochs and batches are those of the trainer, also in a worker that joins
late, and in a run that continues a checkpoint of the trainer.
"""

from __future__ import annotations

from typing import Any, Callable, Iterator, Mapping, Optional

import torch
from torch.utils.data import DataLoader

from steelyard._errors import refuse
from steelyard._torch_batches import RepeatedOrder, joined, repeated
from steelyard._torch_loader import Data, Given, data_of
from steelyard._torch_parallel import ParallelJob


class Batches:
    """`loader`: of the trainer. `accumulated`: how many of its batches make one global batch, with one
    exchange.

    batches.job     the job, after join()
    batches.rounds  global batches of an epoch; a trainer that uses fewer sets it before join()
    batches.number  batches of this epoch that were yielded so far
    batches.total   global batches of all epochs, after which it yields nothing; None: without limit
    batches.start   global batches that earlier runs have used, over all epochs; may be set until begin()"""

    def __init__(self, loader: Any, accumulated: int = 1) -> None:
        if not isinstance(loader, DataLoader):
            raise refuse(
                f'the training data are a {type(loader).__name__}: give the trainer one DataLoader, since '
                'the job divides its batches among the workers'
            )
        self.dataset, self.sampler, self.batch_sampler = loader.dataset, loader.sampler, None
        self.drop_last, self.num_workers = loader.drop_last, loader.num_workers
        self._data: Data = data_of(loader, None, Given())
        self.batch_size, self._length = self._data.batch, len(loader)
        self._accumulated = accumulated
        self.rounds = -(-self._length // accumulated)
        self.number = self.start = 0
        self.total: Optional[int] = None
        self.job: Optional[ParallelJob] = None
        self._began = self._iterated = False

    def join(
        self, model: torch.nn.Module, rounds: Optional[int], backwards: int = 1, **options: Any
    ) -> ParallelJob:
        """Joins a job. `rounds`: its global batches; None: until end() is called. `options`: of loader()."""
        batch = self.batch_size * self._accumulated
        self._order = repeated(self._data, batch, backwards, self.rounds)
        self._began = self._iterated = False
        self.job = joined(
            model,
            self._data,
            self._order,
            batch=batch,
            epochs=None if rounds else 10**6,
            rounds=rounds * backwards if rounds else None,
            backwards=backwards,
            parts=self._parts,
            **options,
        )
        self.job.wait_until_joined()
        self.job.steps.keep({'batches': self})
        return self.job

    def begin(self) -> int:
        """Waits for the first round of this worker, which has the state of the job then. Returns the number
        of global batches before it, over all epochs."""
        assert self.job is not None
        if not self._began:
            self._began, self._order.start = True, self.start
            self.job.begin()
        return self.start + self.job.rounds_taken

    def __iter__(self) -> Iterator[Any]:
        """Yields the batches of an epoch, or the rest of the one in which this worker has begun."""
        done = self.begin()
        if self.total is not None and done >= self.total:
            return
        row = done % self.rounds
        if row and self._iterated:  # the trainer has left the last epoch early
            self._set_start(self.start + self.rounds - row)
            row = 0
        self._iterated = True
        self.number = row * self._accumulated
        assert self.job is not None
        for batch in self.job.batches(self.rounds - row):
            self.number += 1
            yield batch

    def __len__(self) -> int:
        return self._length

    def end(self) -> None:
        """Ends the job for all workers, unless it has ended."""
        if self.job is not None:
            self.job.end()

    @property
    def over(self) -> bool:
        return self.job is not None and self.job.over

    def set_epoch(self, epoch: int) -> None:
        """Has no effect: the order of an epoch follows from the seed of the job and its number."""

    # ---- the state of the job

    def state_dict(self) -> dict[str, Any]:
        return {'start': self.start}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._set_start(state['start'])

    def _set_start(self, start: int) -> None:
        self.start = self._order.start = start

    def _parts(self, taken: int) -> int:
        """The number of the trainer's batches in a round."""
        before = (self.start + taken) % self.rounds * self._accumulated
        return min(self._accumulated, self._length - before)


class Progress:
    """Anything else that belongs to the state of a job: how to get and set it."""

    def __init__(self, get: Callable[[], dict[str, Any]], put: Callable[[dict[str, Any]], None]) -> None:
        self.state_dict, self.load_state_dict = get, put
