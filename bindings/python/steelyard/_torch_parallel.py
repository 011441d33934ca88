"""Data parallelism for a script that keeps its loop: steelyard.torch.parallel() and loader().

A batch of the loader is this worker's share of a global batch. loss.backward() waits for the other
workers and leaves the mean gradient of the global batch in .grad; every worker takes the optimizer step.

A round is computed by the loop of the script, so its samples cannot be computed again within the round. If
a worker is lost, the others receive its share when their own backward has ended. They close the round
without it, and one of them adds these samples to its next batches. The parts of the gradient that the
lost worker had sent by then stay, so those parameters see these samples twice.
"""

from __future__ import annotations

import sys
from typing import Any, Callable, Iterator, Optional, Sequence

import torch

from steelyard import _worker
from steelyard._errors import Failure, refuse
from steelyard._job import BaseJob
from steelyard._reading import Ahead
from steelyard._torch_copy import OwnLayout
from steelyard._torch_data import Reader
from steelyard._torch_exchange import Exchange, Target
from steelyard._torch_incoming import Incoming
from steelyard._torch_micro_batch import out_of_memory
from steelyard._torch_steps import OwnSteps
from steelyard._worker import Task


class ParallelJob(BaseJob):
    """The job behind a loader. `batch`: samples of a global batch. `backwards`: exchanges for each batch.
    `parts`: into how many batches a share is divided, by the number of the round; one exchange follows the
    backward of the last."""

    def __init__(
        self,
        model: torch.nn.Module,
        layout: OwnLayout,
        reader: Reader,
        batch: int,
        backwards: int,
        *arguments: Any,
        parts: Callable[[int], int] = lambda number: 1,
        **options: Any,
    ) -> None:
        self._layout, self._reader = layout, reader
        self._batch, self._backwards, self._parts = batch, backwards, parts
        self.steps = OwnSteps(model, layout, lambda: self.worker)
        self._exchange = Exchange(layout, self._backward_ended, self._target)
        self.steps.keep({'gradients': self._exchange})
        self._incoming = Incoming(reader, layout.parameters[0].tensor.device)
        self._peeked: Optional[Task] = None
        self._task: Optional[Task] = None  # this worker's share of the round, until it is pushed
        self._held: Optional[Task] = None  # the step of a round in which this worker has no share
        self._weight = 0.0  # of the gradient of this worker's share; its samples, unless weigh() was called
        self._scale = 0.0  # gradients are multiplied by it before they are pushed
        self._factors = [1.0]  # on the gradient of each part of the share
        self._losses: list[Any] = []  # of the parts so far
        self._to_come = 0  # exchanges that the current batch still needs
        self._missed = 0  # those before this copy of the model, which came between two exchanges of a batch
        self._further = False  # whether this batch has had an exchange
        self._owed: list[int] = []  # samples of lost workers
        self._ahead: Optional[Ahead] = None
        super().__init__(*arguments, **options)
        self._given = self._tasks()

    # ---- the loader

    @property
    def rounds_taken(self) -> int:
        """Batches of the job whose steps this copy of the model has."""
        return (self.steps.version or 0) // self._backwards

    def accumulates(self) -> None:
        """Gradients matter between batches: they become a part of the state of the job."""
        self._exchange.accumulates = True

    def begin(self) -> None:
        """Waits for the first round of this worker. Until then it gets the state of the job."""
        self._peeked = self._next()

    def end(self) -> None:
        """Ends the job, for all workers, if its last round is not computed yet."""
        while self._next() is not None:
            self._worker.stop(True)
        self._say_owed()

    @property
    def counting(self) -> list[bool]:
        """Which parts of the batch count; others have one sample of weight 0."""
        return [it > 0 for it in self._factors]

    def weigh(self, weights: Sequence[float]) -> None:
        """Call it before backward if losses are no means over samples: the weight of each part, such as its
        number of tokens. Parts that do not count have 0."""
        self._weight = self._scale = sum(weights)
        self._factors = [it / self._weight if self._weight else 0.0 for it in weights]
        self._exchange.factor = self._factors[0]

    def batches(self, rounds: Optional[int] = None) -> Iterator[Any]:
        """Yields this worker's batches until the epoch ends, or for a number of rounds."""
        epoch: Optional[int] = None
        while rounds != 0:
            if rounds is None and epoch is not None and self._has_left(epoch):
                return  # a state that is written later has what the script does between two epochs
            task = self._next()
            if task is None:
                return self._say_owed()
            # From the version, since a round in which this worker has no share has no task with an epoch.
            assert self.steps.version is not None
            self.epoch, number = divmod(self.steps.version, self._rounds_per_epoch())
            self.position = number * self._batch
            if rounds is not None:
                rounds -= 1
            elif epoch not in (None, self.epoch):
                self._peeked = task
                return
            epoch = self.epoch
            self._missed = self.steps.version % self._backwards
            parts = self._read(task)
            self._to_come, self._further = self._backwards - self._missed, False
            self._begin(task)
            yield from parts
            if self._to_come > 0:
                raise refuse(
                    'the body of the loop ended without loss.backward(): call it for each batch, with 0 * '
                    'loss to skip one'
                    if self._to_come == self._backwards
                    else f'the body of the loop called loss.backward() {self._backwards - self._to_come} '
                    f'times, and the loader has backwards={self._backwards}'
                )

    def _has_left(self, epoch: int) -> bool:
        """Whether the next round is in another epoch."""
        version, total = self.steps.version or 0, self.total_rounds
        return version // self._rounds_per_epoch() != epoch and (total is None or version < total)

    def _read(self, task: Task) -> list[Any]:
        """The batch of a round: this worker's share and samples of lost workers, in parts. A part without
        samples gets two of weight 0, so that the loop runs, also with batch norm."""
        # The other workers have all samples of a batch in which this worker has missed an exchange.
        numbers = [it for it in task.samples if it >= 0 and not self._missed]
        if task.kind == _worker.TRAIN and not self._missed:
            taken = self._owed[: max(1, len(numbers))]
            del self._owed[: len(taken)]
            numbers += taken
        count, parts = len(numbers), self._parts(self.rounds_taken)
        ends = [count * it // parts for it in range(parts + 1)]
        lists = [tuple(numbers[begin:end]) for begin, end in zip(ends, ends[1:])]
        self._weight = self._scale = float(count)
        self._factors = [len(it) * parts / max(1, count) for it in lists]
        if not all(lists):
            spare = tuple(self._worker.samples(self.epoch, 0, min(2, int(self.about['train_samples']))))
            lists = [it or spare for it in lists]
        self._incoming.expect(lists, self._guesses(task) if task.kind == _worker.TRAIN else [])
        return [self._incoming.get(it) for it in lists]

    def _guesses(self, task: Task) -> list[Any]:
        if not self._reader.prefetches or self._backwards > 1 or len(self._factors) > 1:
            return []
        if self._ahead is None:
            self._ahead = Ahead(self.about, self._worker.samples)
        lists = self._ahead.after(task.epoch, task.position, len(task.samples), self._batch)
        return [it for it in (tuple(number for number in one if number >= 0) for one in lists) if it]

    def _say_owed(self) -> None:
        if self._owed:
            print(
                f'steelyard: the job ended before {len(self._owed)} samples of a lost worker were used',
                file=sys.stderr,
            )
            self._owed.clear()

    # ---- rounds

    def _begin(self, task: Task) -> None:
        """Begins a round with this worker's share, or the step of one in which it has none."""
        self._task, self._held = (task, None) if task.kind == _worker.TRAIN else (None, task)
        self._layout.load(torch.empty(0))
        self._losses = []
        self._exchange.factor = self._factors[0]
        self._exchange.watch()
        self.steps.begin_round(int(self.about.get('slot', 0)))

    def _target(self) -> Optional[Target]:
        """Where _push() will write the gradient of the backward that begins; None if it does not push, or if
        that is not known yet."""
        last = len(self._losses) + 1 == len(self._factors)
        if self._task is None or self._missed > 0 or not last or self._scale == 0:
            return None
        return self._buffer(self._task), self._scale

    @staticmethod
    def _buffer(task: Task) -> torch.Tensor:
        return torch.frombuffer(task.gradient, dtype=torch.float32)

    def _backward_ended(self) -> None:
        """Pushes this worker's gradient and waits for the mean."""
        self._check_process()
        if self._missed > 0:
            self._missed -= 1
            return self._forget()
        if self._to_come == 0:
            raise refuse(
                'loss.backward() ran once more than the loader expects: call it once for each batch, with '
                'the sum of the losses, or give steelyard.torch.loader() backwards=2'
            )
        if self._further:  # a further exchange of the same batch is a round of its own
            task = self._next()
            if task is None:
                return self._drop()
            assert self.steps.version is not None
            if (self.steps.version + self._to_come) % self._backwards:  # this copy was replaced by a later one
                self._peeked, self._missed, self._to_come = task, self._to_come - 1, 0
                return self._forget()
            self._begin(task)
        self._losses.append(self._exchange.loss)
        if len(self._losses) < len(self._factors):  # the share has a further part
            self._exchange.factor = self._factors[len(self._losses)]
            return
        self._to_come, self._further = self._to_come - 1, True
        if self._task is not None:
            self._push(self._task)
        step = self._held or self._wait_for_step()
        if step is None:
            return self._drop()
        self.steps.take(step, self._worker)
        self._exchange.put_back()

    def _drop(self) -> None:
        """Leaves no gradients if the job was ended before this round, so that no step follows."""
        if self._outcome != 'finished':
            raise Failure(f'the job ended within a batch: {self._outcome}')
        self._to_come = 0
        self._forget()

    def _forget(self) -> None:
        """Leaves no gradients, so that the optimizer changes nothing."""
        self._exchange.forget()
        for entry in self._layout.parameters:
            entry.tensor.grad = None

    def _push(self, task: Task) -> None:
        into = self._buffer(task)
        self._exchange.write(into, self._scale, self._weight)
        self._worker.weigh(self._weight)
        loss = sum(float(it) * factor for it, factor in zip(self._losses, self._factors) if factor)
        self._worker.done(loss * self._scale, None)
        self._task = None
        self._incoming.bring_next(out_of_memory)

    def _wait_for_step(self) -> Optional[Task]:
        """Closes shares of lost workers with weight 0: their samples come with later batches. None if the
        job was ended."""
        while True:
            task = self._next()
            if task is None or task.kind == _worker.STEP:
                return task
            torch.frombuffer(task.gradient, dtype=torch.float32).zero_()
            # The further exchanges of a batch have no samples of their own.
            if self._to_come + 1 == self._backwards:
                self._owed.extend(it for it in task.samples if it >= 0)
            self._worker.weigh(0.0)
            self._worker.done(0.0, 0)

    def _next(self) -> Optional[Task]:
        """The next share or step; None after the end of the job."""
        while True:
            task, self._peeked = self._peeked or next(self._given, None), None
            if task is None or not self.steps.beside(task, self._worker):
                return task

    def _take_final(self, task: Task) -> None:
        self._reader.close()

    def _release(self) -> None:
        self._exchange.close()
