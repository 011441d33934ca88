"""The loop of a job whose optimizer steps in the script; made by steelyard.torch.join(..., step='here').

    job = steelyard.torch.join(model, optimizer, train_set, batch=512, step='here')
    for round in job.rounds():
        for x, y in round:                           # micro-batches of this worker's share
            round.backward(cross_entropy(model(x), y))
        optimizer.step()                             # on every worker, with the same gradients

A round ends when all its samples are counted. If a worker is lost meanwhile, the inner loops of the others
yield its samples, too. Then every worker has the mean gradient of the round in .grad.
"""

from __future__ import annotations

from typing import Any, Iterator, Optional

import torch

from steelyard import _worker
from steelyard._errors import refuse
from steelyard._torch_copy import OwnLayout
from steelyard._torch_job import Parts, TorchJob
from steelyard._torch_steps import OwnSteps
from steelyard._worker import Task


class Round:
    """One step of the optimizer. Iterate over it once.

    round.epoch    its epoch, from 0
    round.version  optimizer steps taken before it, over the whole job"""

    def __init__(self, job: RoundJob, version: int) -> None:
        self._job, self.version, self.epoch = job, version, job.epoch
        self._begun = self._complete = False

    def __iter__(self) -> Iterator[Any]:
        """Yields micro-batches of this worker's share, on the model's device; none if the worker has no
        share in this round. Call backward() once for each."""
        if self._begun:
            raise refuse(
                'a round can be iterated over only once: its gradient is complete, so an optimizer '
                'that evaluates the loss several times a step, as LBFGS does, cannot be used'
            )
        self._begun = True
        yield from self._job._compute_round()
        self._complete = True

    def backward(self, loss: torch.Tensor, weight: Any = None) -> None:
        """Computes the gradients of a mean loss and adds them to those of the round, multiplied by
        `weight`: the number of samples by default; give the number of tokens if `loss` is a mean over
        tokens, and 0 to skip a micro-batch. Call it once for each micro-batch, with the sum of all
        losses."""
        self._job.backward(loss, weight)

    @property
    def complete(self) -> bool:
        return self._complete


class RoundJob(TorchJob):
    """Iterate over job.rounds() once; it runs all epochs. Every worker takes every optimizer step, and
    the script may use any optimizer, several of them, schedulers, hooks, clipping and averages of weights,
    and freeze or unfreeze parameters between rounds.

    job.main     after the loop: True in the one process that should save the results
    job.epoch    epoch of the current round, from 0
    job.worker   the name of this worker
    job.about    after joining: properties of the job, as the scheduler has them
    job.outcome  after the loop: "finished"
    job.resume   the argument `resume` of join() """

    def __init__(
        self, parts: Parts, optimizer: Optional[Any], *arguments: Any, **options: Any
    ) -> None:
        assert isinstance(parts.layout, OwnLayout)
        self._copy: OwnLayout = parts.layout
        self._steps = OwnSteps(parts.model, self._copy, lambda: self.worker)
        self._peeked: Optional[Task] = None
        if optimizer is not None:
            self._steps.keep({'optimizer': optimizer})
        super().__init__(parts, *arguments, **options)

    def keep(self, **objects: Any) -> None:
        """Adds objects to the state of the job: optimizers, schedulers, averages of weights, and anything
        with state_dict() and load_state_dict(). Checkpoints hold their state, and workers that join late
        receive it. Call it before rounds()."""
        self._steps.keep(objects)

    def rounds(self) -> Iterator[Round]:
        """Yields the rounds of the job. After the inner loop over a round, every parameter has the mean
        gradient of all samples of the round in .grad; call optimizer.step() then."""
        self._given = self._tasks()
        try:
            while self._between_rounds():
                version = self._steps.version
                assert version is not None
                # A round in which this worker has no share has no task that names its epoch.
                self.epoch, number = divmod(version, self._rounds_per_epoch())
                self.position = number * int(self.about['batch'])
                current = Round(self, version)
                yield current
                if not current.complete:
                    raise refuse(
                        'the body of the loop ended before the round was computed: iterate over it, as in '
                        '`for x, y in round: round.backward(loss)`'
                    )
        except GeneratorExit:
            self._left_early()
            raise
        finally:
            self._given.close()
            self._close()

    def __iter__(self) -> Iterator[Any]:
        raise refuse(
            'the optimizer of this job steps in the script: iterate over job.rounds(), and over each round'
        )

    def run(self, step: Any) -> None:
        raise refuse('job.run() is for jobs whose optimizer steps on the servers: use job.rounds()')

    def on_round(self, call: Any) -> Any:
        raise refuse('job.on_round() is for jobs whose optimizer steps on the servers: call it after step()')

    def backward(self, loss: torch.Tensor, weight: Any = None) -> None:
        super().backward(loss, weight)
        self._copy.note_gradients()

    # ---- tasks

    def _next(self) -> Optional[Task]:
        """The next task; None after the end of the job."""
        task, self._peeked = self._peeked or next(self._given, None), None
        if task is not None and not self._ahead:
            self._begin()
        return task

    def _between_rounds(self) -> bool:
        """Does all that is due before the next round. Returns False after the last one."""
        while True:
            task = self._next()
            if task is None:
                return False
            if self._beside(task):
                continue
            self._peeked = task
            return True

    def _beside(self, task: Task) -> bool:
        """Does a task that is no part of a round; False for others."""
        if task.kind == _worker.EVALUATE:
            self._evaluate(task)
            return True
        return self._steps.beside(task, self._worker)

    def _task_after_loop(self, task: Task) -> None:
        """The last checkpoint needs the state of this worker."""
        self._steps.beside(task, self._worker)

    def _compute_round(self) -> Iterator[Any]:
        """Computes pieces of the round until its gradient arrives."""
        for parameter in self._parts.model.parameters():
            parameter.grad = None
        self._steps.begin_round(int(self.about.get('slot', 0)))
        while True:
            task = self._next()
            if task is None:
                return
            if task.kind == _worker.TRAIN:
                yield from self._train(task)
            elif task.kind == _worker.STEP:
                self._steps.take(task, self._worker)
                return
            else:
                self._beside(task)
