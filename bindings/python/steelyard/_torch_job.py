"""The loop of a job that trains a torch module; made by steelyard.torch.join().

A task of the job is a piece of a round. It is cut into micro-batches, which the user's loop receives
one by one. Usually one attempt is enough. If memory runs out or float16 overflows, the piece is
computed again from the start with smaller micro-batches or a smaller loss scale.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, Callable, Iterator, Optional

import torch

from steelyard import _worker
from steelyard._errors import Failure, refuse
from steelyard._job import BaseJob
from steelyard._pieces import piece_seed, weight_of
from steelyard._reading import Ahead
from steelyard._torch_data import Reader, arguments_of, moved
from steelyard._torch_gradients import Gradients
from steelyard._torch_micro_batch import LONE, MicroBatch, is_lone_sample, out_of_memory
from steelyard._torch_order import Order
from steelyard._torch_parameters import Layout
from steelyard._torch_scale import LossScale
from steelyard._worker import Task

Score = Callable[..., Any]


class OutOfMemory(Failure):
    """This worker's memory is too small; other workers may have enough."""


@dataclasses.dataclass
class Parts:
    """The components of a job."""

    model: torch.nn.Module
    layout: Layout
    device: torch.device
    reader: Reader
    order: Order
    first_test: int  # the reader's number of the first test sample
    score: Optional[Score]
    micro_batch: MicroBatch
    one_size: bool  # whether all micro-batches of the job have the same size (batch norm)
    overlap: bool
    fp16: bool
    seed: int


@dataclasses.dataclass
class _Piece:
    """One attempt at a task."""

    samples: int
    weight: float = 0.0
    unit: float = 0.0  # divisor of weights in float16, the first weight; keeps factors near 1
    loss: Any = 0.0


@dataclasses.dataclass
class _Body:
    """The micro-batch that the user's loop is working on."""

    count: int
    last: bool
    pushed: bool = False
    ran_out: bool = False


class TorchJob(BaseJob):
    """Iterate over it once: `for x, y in job: job.backward(loss)`, or call `job.run(step)`. Either runs
    all epochs.

    job.main     after the loop: True in the one process that should save the results
    job.epoch    epoch of the current batch, from 0
    job.round    round of the current batch, from 0 in each epoch
    job.worker   the name of this worker
    job.about    after joining: properties of the job, as the scheduler has them
    job.outcome  after the loop: "finished"
    job.resume   the argument `resume` of join()

    After the loop the model holds the final parameters."""

    def __init__(self, parts: Parts, *arguments: Any, **options: Any) -> None:
        self._parts = parts
        self._scale = LossScale() if parts.fp16 else None
        self._body: Optional[_Body] = None
        self._piece = _Piece(0)
        self._weighed = False
        self._versions: list[int] = []
        self._ahead: Optional[Ahead] = None
        self._guesses: list[Any] = []
        super().__init__(*arguments, **options)
        self._gradients = Gradients(parts.layout, self._worker, parts.overlap and not parts.fp16)

    # ---- for users

    def __iter__(self) -> Iterator[Any]:
        """Yields micro-batches of this worker's share, as the collate function returns them, on the
        model's device. Call job.backward() once for each."""
        try:
            for task in self.tasks():
                if not self._ahead:
                    self._begin()
                if task.kind == _worker.EVALUATE:
                    self._evaluate(task)
                else:
                    yield from self._train(task)
        finally:
            self._close()

    def backward(self, loss: torch.Tensor, weight: Any = None) -> None:
        """Computes the gradients of a mean loss and accumulates them, multiplied by `weight`. Call it
        once for each micro-batch, with the sum of all losses. `weight` defaults to the number of
        samples; give the number of tokens if `loss` is a mean over tokens, and 0 to skip a
        micro-batch."""
        self.check_process()
        body = self._body
        if body is None:
            raise refuse('job.backward() outside of the loop: call it in `for x, y in job:`')
        if body.pushed:
            raise refuse(
                'job.backward() was called twice for one micro-batch: call it once, with the sum '
                'of the losses'
            )
        if not isinstance(loss, torch.Tensor) or loss.numel() != 1:
            raise refuse(
                'job.backward() needs the loss as a tensor with one element: give the mean over '
                'the micro-batch'
            )
        its_weight = weight_of(weight, body.count)
        body.pushed = True
        if its_weight == 0 and not body.last:
            return
        try:
            self._accumulate(loss, its_weight, body)
        except Exception as error:
            if not out_of_memory(error):
                raise
            body.ran_out = True

    def run(self, step: Callable[..., Any]) -> None:
        """Runs the whole job. Calls step(x, y) for each micro-batch, which returns the loss or (loss,
        weight). If memory runs out in it, the piece is computed again with smaller micro-batches."""
        for batch in self:
            body = self._body
            assert body is not None
            try:
                result = step(*arguments_of(batch))
                loss, weight = result if isinstance(result, tuple) else (result, None)
                self.backward(loss, weight)
            except Exception as error:
                if not out_of_memory(error):
                    raise
                body.ran_out = True
            result = loss = weight = batch = None  # frees memory for the next attempt

    # ---- training

    def _close(self) -> None:
        self._body = None
        self._gradients.close()
        self._parts.reader.close()

    def _begin(self) -> None:
        parts = self._parts
        if parts.one_size:
            parts.micro_batch.size = int(self.about.get('grain') or parts.micro_batch.size)
        ends = functools.partial(parts.order.ends, int(self.about.get('seed', parts.seed)))
        self._ahead = Ahead(self.about, self._worker.samples, ends, parts.one_size)

    def _train(self, task: Task) -> Iterator[Any]:
        if not task.samples:
            self._worker.done(0.0, 0)
            return
        self._parts.micro_batch.grow()
        self._gradients.begin_task(task)
        self._weighed = False
        while True:
            again = yield from self._attempt(task)
            if not again:
                return

    def _attempt(self, task: Task) -> Iterator[Any]:
        """Computes a piece. Returns True if it must be computed again."""
        parts = self._parts
        self._gradients.begin_attempt()
        self._versions = self._versions_now()
        self._piece = _Piece(len(task.samples))
        torch.manual_seed(piece_seed(int(self.about.get('seed', parts.seed)), task))
        size = parts.micro_batch.size
        assert self._ahead is not None
        lists = self._ahead.cut(task.samples, task.epoch, task.position, size)
        self._guesses = self._ahead.after(task.epoch, task.position, len(task.samples), size)
        parts.reader.expect(lists, self._guesses)
        for number, samples in enumerate(lists):
            body = _Body(len(samples), number + 1 == len(lists))
            yield from self._one(samples, body)
            if body.ran_out:
                self._make_smaller()
                return True
            if not self._worker.wanted():
                return False
        return not self._finish()

    def _one(self, samples: tuple[int, ...], body: _Body) -> Iterator[Any]:
        try:
            batch = moved(self._parts.reader.get(samples), self._parts.device)
        except Exception as error:
            if not out_of_memory(error):
                raise
            body.ran_out = True
            return
        self._body = body
        self._gradients.watch(True)
        began = time.perf_counter()
        yield batch
        self._gradients.watch(False)
        self._body = None
        if body.ran_out:
            return
        if not body.pushed:
            raise refuse(
                'the body of the loop ended without job.backward(loss): call it once for each '
                'micro-batch, with weight=0 to skip one'
            )
        if self._versions_now() != self._versions:
            raise refuse(
                'parameters were changed in the loop, as opt.step() does: the servers take the '
                'optimizer steps, so remove opt.step() and schedule.step()'
            )
        self._parts.micro_batch.observe(len(samples), time.perf_counter() - began)

    def _accumulate(self, loss: torch.Tensor, weight: float, body: _Body) -> None:
        piece = self._piece
        piece.weight += weight
        if body.last and not self._weighed and piece.weight != piece.samples:
            self._weighed = True
            self._worker.weigh(piece.weight)
        if weight == 0:
            return
        piece.loss = piece.loss + loss.detach().float() * body.count
        if self._scale is None:
            factor = weight
        else:
            piece.unit = piece.unit or weight
            factor = weight / piece.unit * self._scale.value
        self._gradients.backward(loss, factor, body.last)

    def _finish(self) -> bool:
        """Completes the piece. Returns False if it must be computed again."""
        piece = self._piece
        if self._scale is None:
            self._gradients.finish(piece.weight)
        else:
            good = self._gradients.finish(piece.weight, (piece.unit or 1.0) / self._scale.value)
            self._scale.update(good)
            if not good:
                return False
        self._worker.done(float(piece.loss), 0)
        return True

    def _make_smaller(self) -> None:
        """Halves the micro-batch size. Call it outside of any `except` block, which would keep the
        failed attempt's memory allocated."""
        size = self._parts.micro_batch.size
        self._piece = _Piece(0)
        self._gradients.settle()
        self._gradients.clear()
        if self._parts.device.type == 'cuda':
            torch.cuda.empty_cache()
        if self._parts.one_size:
            raise OutOfMemory(
                f'memory is too small for micro-batches of {size} samples, and with batch norm all '
                'workers must use the same size: give a smaller micro_batch to join()'
            )
        if not self._parts.micro_batch.halve():
            raise OutOfMemory(
                'memory is too small for a micro-batch of one sample: this machine cannot train the '
                'model'
            )

    def _versions_now(self) -> list[int]:
        return [it.tensor._version for it in self._parts.layout.parameters]

    # ---- evaluation and the end

    def _evaluate(self, task: Task) -> None:
        parts = self._parts
        assert parts.score is not None
        parts.layout.load(torch.frombuffer(task.parameters, dtype=torch.float32))
        size = parts.micro_batch.size
        numbers = [parts.first_test + it for it in task.samples]
        lists = [tuple(numbers[at : at + size]) for at in range(0, len(numbers), size)]
        parts.reader.expect(lists, self._guesses)
        loss, right = 0.0, 0
        training = [it for it in parts.model.modules() if it.training]
        parts.model.eval()
        try:
            with torch.no_grad():
                for samples in lists:
                    batch = moved(parts.reader.get(samples), parts.device)
                    result = parts.score(parts.model, *arguments_of(batch))
                    mean, hits = result if isinstance(result, tuple) else (result, 0)
                    loss += float(mean) * len(samples)
                    right += int(hits)
                    if not self._worker.wanted():
                        return
        finally:
            for module in training:
                module.training = True
        self._worker.done(loss, right)

    def take_final(self, task: Task) -> None:
        if task.parameters is not None:
            self._parts.layout.load(torch.frombuffer(task.parameters, dtype=torch.float32))

    def explain(self, error: BaseException) -> Optional[str]:
        if out_of_memory(error):
            return (
                'memory ran out in the body of the loop: use job.run(step), which retries with '
                'smaller micro-batches, or give a smaller micro_batch to join()'
            )
        return LONE if is_lone_sample(error) else None

    def is_own_trouble(self, error: BaseException) -> bool:
        return (
            isinstance(error, OutOfMemory) or out_of_memory(error) or super().is_own_trouble(error)
        )
