"""The loop of a job that trains a torch module; made by steelyard.torch.join().

A task of the job is a piece of a round. It is cut into micro-batches, which the user's loop receives
one by one. Usually one attempt is enough. If memory runs out or float16 overflows, the piece is
computed again from the start with smaller micro-batches or a smaller loss scale.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from typing import Any, Callable, Generator, Iterator, Optional

import torch

from steelyard import _worker
from steelyard._errors import Failure, refuse
from steelyard._job import BaseJob
from steelyard._pieces import piece_seed, weight_of
from steelyard._reading import Ahead
from steelyard._rounds import RoundCalls
from steelyard._torch_data import Reader, arguments_of
from steelyard._torch_evaluation import Score, evaluated
from steelyard._torch_gradients import Gradients
from steelyard._torch_incoming import Incoming
from steelyard._torch_micro_batch import LONE, MicroBatch, is_lone_sample, out_of_memory
from steelyard._torch_order import Order
from steelyard._torch_parameters import Layout, has_batch_norm
from steelyard._torch_scale import LossScale
from steelyard._torch_watch import Watch
from steelyard._worker import Task


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
    one_size: bool  # whether the size is that of all workers, and the grain of shares
    overlap: bool
    fp16: bool
    seed: int
    optimizer: Optional[torch.optim.Optimizer]  # whose steps servers take; None: the script does


@dataclasses.dataclass
class _Piece:
    """One attempt at a task."""

    samples: int
    round: int = 0  # of the job
    weight: float = 0.0
    unit: float = 0.0  # divisor of weights in float16, the first weight; keeps factors near 1
    loss: Any = 0.0


@dataclasses.dataclass
class _Body:
    """The micro-batch that the user's loop is working on."""

    count: int
    last: bool
    pushed: bool = False
    complete: bool = False  # whether its gradient is in the sum
    ran_out: bool = False


class TorchJob(BaseJob):
    """Iterate over it once: `for x, y in job: job.backward(loss)`, or call `job.run(step)`. Either runs
    all epochs.

    job.main     after the loop: True in the one process that should save the results
    job.epoch    epoch of the current batch, from 0
    job.round    round of the current batch, from 0 in each epoch
    job.worker   the name of this worker
    job.logs     True in the one worker that should write logs
    job.bar()    the loop with a bar of tqdm; job.total_rounds, job.rounds_done: its numbers
    job.history  rounds and evaluations of all workers so far
    job.about    after joining: properties of the job, as the scheduler has them
    job.outcome  after the loop: "finished"
    job.resume   the argument `resume` of join()
    job.stop()   ends the job for all workers after the current round. `break` does it at once, if
                 this is the only worker; otherwise this worker leaves, and the others continue
    job.on_round(f)  f() is called after each round

    After the loop the model holds the final parameters."""

    def __init__(self, parts: Parts, *arguments: Any, **options: Any) -> None:
        self._parts = parts
        self._scale = LossScale() if parts.fp16 else None
        self._body: Optional[_Body] = None
        self._piece = _Piece(0)
        self._weighed = False
        self._watch = Watch(parts.layout, parts.optimizer)
        self._ahead: Optional[Ahead] = None
        self._guesses: list[Any] = []
        self._incoming = Incoming(parts.reader, parts.device)
        self._rounds = RoundCalls()
        super().__init__(*arguments, **options)
        self._gradients = Gradients(parts.layout, self._worker, parts.overlap and not parts.fp16)

    # ---- for users

    def __iter__(self) -> Iterator[Any]:
        """Yields micro-batches of this worker's share, as the collate function returns them, on the
        model's device. Call job.backward() once for each."""
        try:
            for task in self._tasks():
                if not self._ahead:
                    self._begin()
                if task.kind == _worker.EVALUATE:
                    self._evaluate(task)
                else:
                    yield from self._train(task)
        except GeneratorExit:
            self._left_early()
            raise
        finally:
            self._close()

    def backward(self, loss: torch.Tensor, weight: Any = None) -> None:
        """Computes the gradients of a mean loss and accumulates them, multiplied by `weight`. Call it
        once for each micro-batch, with the sum of all losses. `weight` defaults to the number of
        samples; give the number of tokens if `loss` is a mean over tokens, and 0 to skip a
        micro-batch."""
        self._check_process()
        body = self._body
        if body is None:
            raise refuse('job.backward() outside of the loop: call it in `for x, y in job:`')
        body.complete = False
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
            body.complete = True
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

    def on_round(self, call: Callable[[], Any]) -> Callable[[], Any]:
        """Calls `call` on each worker once for each completed round, in order, before the next
        micro-batch. The model then holds the parameters that the round left, so an average of them is
        right for any number of workers: `job.on_round(lambda: average.update_parameters(model))`.
        Call it before the loop. Returns `call`."""
        if self._loop_began:
            raise refuse('job.on_round() in the loop: call it between join() and the loop')
        self._rounds.add(call)
        return call

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
        joins_lone = has_batch_norm(parts.model)
        aligned = parts.one_size or parts.reader.prefetches
        self._ahead = Ahead(self.about, self._worker.samples, ends, joins_lone, aligned)
        self._rounds.begin(self.about)

    def _train(self, task: Task) -> Iterator[Any]:
        if not task.samples:
            self._worker.done(0.0, None)
            return
        self._parts.micro_batch.grow()
        self._gradients.begin_task(task)
        self._weighed = False
        while True:
            again = yield from self._attempt(task)
            if not again:
                return

    def _attempt(self, task: Task) -> Generator[Any, None, bool]:
        """Computes a piece. Returns True if it must be computed again."""
        parts = self._parts
        self._gradients.begin_attempt()
        self._piece = _Piece(len(task.samples), self._completed(task))
        self._rounds.loaded(self._piece.round, self._alone)
        self._watch.loaded()
        _seed(piece_seed(int(self.about.get('seed', parts.seed)), task))
        size = parts.micro_batch.size
        assert self._ahead is not None
        lists = self._ahead.cut(task.samples, task.epoch, task.position, size)
        if parts.reader.prefetches:
            self._guesses = self._ahead.after(task.epoch, task.position, len(task.samples), size)
        self._incoming.expect(lists, self._guesses)
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
            batch = self._incoming.get(samples)
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
        self._watch.check()
        self._gradients.clear()
        self._parts.micro_batch.observe(len(samples), time.perf_counter() - began)

    def _accumulate(self, loss: torch.Tensor, weight: float, body: _Body) -> None:
        piece = self._piece
        piece.weight += weight
        if body.last and not self._weighed and piece.weight != piece.samples:
            self._weighed = True
            self._worker.weigh(piece.weight)
        if weight == 0:
            return
        piece.loss = piece.loss + loss.detach().float() * weight
        if self._scale is None:
            factor = weight
        else:
            piece.unit = piece.unit or weight
            factor = weight / piece.unit * self._scale.value
        self._watch.before_backward()
        self._gradients.backward(loss, factor, body.last)
        self._watch.after_backward()

    def _finish(self) -> bool:
        """Completes the piece. Returns False if it must be computed again."""
        piece = self._piece
        if self._scale is None:
            good = self._gradients.finish(piece.weight)
        else:
            good = self._gradients.finish(piece.weight, (piece.unit or 1.0) / self._scale.value)
            self._scale.update(good)
        if not good:
            return False
        self._worker.done(float(piece.loss), None)
        self._rounds.computed(piece.round + 1)
        if self._body is None:  # not if the loop was left
            self._incoming.bring_next(out_of_memory)
        return True

    def _left_early(self) -> None:
        """The loop was left in its body. A complete piece is reported, since all of it may be sent
        already. Otherwise the model gets back the parameters and buffers of the last round."""
        body = self._body
        if body is not None and body.last and body.complete:
            self._finish()
        elif body is not None:
            self._gradients.restore()

    def _completed(self, task: Task) -> int:
        """Rounds of the job before the one of this task, or before its end."""
        samples, batch = int(self.about['train_samples']), int(self.about['batch'])
        return task.epoch * -(-samples // batch) + task.position // batch

    @property
    def _alone(self) -> bool:
        return self.about.get('workers') == 1

    def _make_smaller(self) -> None:
        """Halves the micro-batch size. Call it outside of any `except` block, which would keep the
        failed attempt's memory allocated."""
        size = self._parts.micro_batch.size
        self._piece = _Piece(0)
        self._incoming.free()
        self._gradients.free()
        if self._parts.device.type == 'cuda':
            torch.cuda.empty_cache()
        if self._parts.one_size:
            raise OutOfMemory(
                f'memory is too small for micro-batches of {size} samples, and with micro_batch= or '
                'batch norm all have the same size: give a smaller micro_batch to join()'
            )
        if not self._parts.micro_batch.halve():
            raise OutOfMemory(
                'memory is too small for a micro-batch of one sample: this machine cannot train the '
                'model'
            )

    # ---- evaluation and the end

    def _evaluate(self, task: Task) -> None:
        parts = self._parts
        assert parts.score is not None
        parts.layout.load(torch.frombuffer(task.parameters, dtype=torch.float32))
        self._rounds.evaluating()
        size = parts.micro_batch.size
        numbers = [parts.first_test + it for it in task.samples]
        lists = [tuple(numbers[at : at + size]) for at in range(0, len(numbers), size)]
        self._incoming.expect(lists, self._guesses)
        batches = ((len(it), self._incoming.get(it)) for it in lists)
        total = evaluated(parts.model, parts.score, batches, self._worker.wanted)
        if total is None:
            return
        if total.weight != len(numbers):
            self._worker.weigh(total.weight)
        self._worker.done(total.loss, total.right)

    def _take_final(self, task: Task) -> None:
        if task.parameters is not None:
            self._parts.layout.load(torch.frombuffer(task.parameters, dtype=torch.float32))
            if self._rounds:
                self._rounds.loaded(self._completed(task), self._alone)

    def _release(self) -> None:
        gradients = self.__dict__.get('_gradients')  # not yet made if joining has failed
        if gradients is not None:
            gradients.release()

    def _explain(self, error: BaseException) -> Optional[str]:
        if out_of_memory(error):
            return (
                'memory ran out in the body of the loop: use job.run(step), which retries with '
                'smaller micro-batches, or give a smaller micro_batch to join()'
            )
        return LONE if is_lone_sample(error) else None

    def _is_own_trouble(self, error: BaseException) -> bool:
        return (
            isinstance(error, OutOfMemory) or out_of_memory(error) or super()._is_own_trouble(error)
        )


def _seed(number: int) -> None:
    """torch.manual_seed(), which also notes a stack trace for each kind of device that is not in use."""
    torch.default_generator.manual_seed(number)
    if torch.cuda.is_initialized():
        torch.cuda.manual_seed_all(number)
