"""A worker whose tasks have the samples of an order that the script chose.

It also keeps batch norm from micro-batches of one sample. If the last grain of a round has one sample,
the piece that ends before it takes this sample, too, and the piece of that grain counts with weight 0.
Both follow from positions alone, so the result does not depend on the division of the round.
"""

from __future__ import annotations

import ctypes
import dataclasses
from typing import Any, Optional

from steelyard import _worker
from steelyard._job import Factory
from steelyard._torch_order import Order
from steelyard._worker import Task, WorkerLike


class OrderedWorker:
    """`joins_lone`: whether a last grain of one sample is joined to the one before."""

    def __init__(self, worker: WorkerLike, order: Order, joins_lone: bool) -> None:
        self._worker, self._order, self._joins_lone = worker, order, joins_lone
        self._about: dict[str, Any] = {}

    def next(self, seconds: float) -> Task:
        task = self._worker.next(seconds)
        if task.kind != _worker.TRAIN:
            return task
        begin, end = task.position, task.position + len(task.samples)
        until = self._until(begin, end)
        if until == begin < end:
            ctypes.memset(task.gradient, 0, ctypes.sizeof(task.gradient))
            self._worker.weigh(0.0)
            self._worker.done(0.0, 0)
            return Task(kind=_worker.WAIT)
        if until != end:
            self._worker.weigh(float(until - begin))  # the caller may still set another weight
        if until == end and not self._order.own:
            return task
        return dataclasses.replace(task, samples=self.samples(task.epoch, begin, until))

    def job(self) -> dict[str, Any]:
        self._about = self._about or self._worker.job()
        return self._about

    def samples(self, epoch: int, begin: int, end: int) -> list[int]:
        if self._order.own:
            return list(self._order.numbers(int(self.job()['seed']), epoch, begin, end))
        return self._worker.samples(epoch, begin, end)

    def weigh(self, weight: float) -> None:
        self._worker.weigh(weight)

    def final(self, begin: int, end: int) -> None:
        self._worker.final(begin, end)

    def wanted(self) -> bool:
        return self._worker.wanted()

    def done(self, loss: float, correct: Optional[int]) -> None:
        self._worker.done(loss, correct)

    def stop(self, now: bool) -> None:
        self._worker.stop(now)

    def lose_state(self) -> None:
        self._worker.lose_state()

    def leave(self, failure: Optional[str] = None) -> None:
        self._worker.leave(failure)

    def free(self) -> None:
        self._worker.free()

    def _until(self, begin: int, end: int) -> int:
        """Where the samples end that this piece computes."""
        if not self._joins_lone:
            return end
        if end == begin + 1 and self._is_lone(begin):
            return begin
        return end + 1 if self._is_lone(end) else end

    def _is_lone(self, position: int) -> bool:
        """Whether a grain of one sample is at this position, behind another grain of its round."""
        about = self.job()
        batch, grain, samples = (int(about[it]) for it in ('batch', 'grain', 'train_samples'))
        in_round = position % batch
        last = position + 1 == samples or in_round + 1 == batch
        return position < samples and last and in_round > 0 and in_round % grain == 0


def ordered(factory: Factory, order: Order, joins_lone: bool) -> Factory:
    """Makes workers whose tasks have the samples of this order."""
    if not order.own and not joins_lone:
        return factory
    return lambda description, weights: OrderedWorker(
        factory(description, weights), order, joins_lone
    )
