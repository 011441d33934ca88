"""The loop of a job in which the user's code computes gradients and pushes them: arrays, JAX, Keras.

    for batch in job:              # (x, y, weights), possibly converted by the framework's job
        job.push(loss, gradients)

All micro-batches of a job have one size; _pieces.py explains the padding.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

import numpy as np

from steelyard import _joining, _worker
from steelyard._errors import refuse
from steelyard._flat import Flat, as_numpy
from steelyard._job import BaseJob
from steelyard._job_keys import check_arguments
from steelyard._joining import checked_batch, job_keys, placed
from steelyard._pieces import Piece, divided, dividing, piece_seed, weight_of
from steelyard._samples import SampleSource
from steelyard._worker import Task

Score = Callable[..., Any]


@dataclasses.dataclass
class Request:
    """The arguments of join() that all frameworks share."""

    train: Any
    batch: int
    epochs: Optional[int]
    rounds: Optional[int]
    test: Any
    score: Optional[Score]
    clip_norm: float
    micro_batch: Optional[int]
    seed: int
    name: Optional[str]
    job: Optional[Mapping[str, Any]]
    resume: bool
    run_dir: Optional[str]
    verbose: bool
    more: Mapping[str, Any]

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Request:
        """Checks the arguments of join(), its locals(), and takes the fields from them."""
        check_arguments(arguments)
        return cls(**{it.name: arguments[it.name] for it in dataclasses.fields(cls)})

    def __post_init__(self) -> None:
        self.batch = checked_batch(self.batch)
        if (self.test is None) != (self.score is None):
            raise refuse('test and score belong together: give both or neither')
        if self.micro_batch is not None and int(self.micro_batch) < 1:
            raise refuse(f'micro_batch = {self.micro_batch}: give at least 1')


class PushJob(BaseJob):
    """Iterate over it once. Subclasses load parameters into the framework and add up gradients.

    job.main     after the loop: True in the one process that should save the results
    job.epoch    epoch of the current batch, from 0
    job.round    round of the current batch, from 0 in each epoch
    job.draw     a seed for random numbers of the current batch: the same on every worker
    job.worker   the name of this worker
    job.logs     True in the one worker that should write logs
    job.bar()    the loop with a bar of tqdm; job.total_rounds, job.rounds_done: its numbers
    job.history  rounds and evaluations of all workers so far
    job.about    after joining: properties of the job, as the scheduler has them
    job.outcome  after the loop: "finished" """

    def __init__(
        self,
        request: Request,
        flat: Flat,
        weights: Sequence[Any],
        optimizer: Mapping[str, Any],
        kind: str,
        mark: str = '',
    ) -> None:
        self._flat, self._request = flat, request
        self._stepped = [it for it in flat.entries if not it.averaged]
        self._train_set = SampleSource(request.train, 'train')
        self._test_set = SampleSource(request.test, 'test') if request.test is not None else None
        self._size = int(request.micro_batch or dividing(request.batch))
        self._count: Optional[int] = None  # samples of the current micro-batch, until push()
        self._in_body = False
        self._piece = Piece(0)
        self.draw = 0
        keys = job_keys(
            optimizer,
            batch=request.batch,
            epochs=request.epochs,
            rounds=request.rounds,
            clip_norm=request.clip_norm,
            seed=request.seed,
            name=request.name,
            more=request.more,
            job=request.job,
        )
        about = {
            'tensors': flat.described(),
            'data': self._train_set.kind,
            'train_samples': len(self._train_set),
            'test_samples': len(self._test_set) if self._test_set else 0,
            'grain': self._size,
        }
        if mark:
            about['data_hash'] = mark
        description, cluster = placed(keys, about, kind, request.resume, request.run_dir, request.verbose)
        first = flat.gathered(weights)
        super().__init__(
            description,
            first.ctypes.data,
            cluster,
            factory=_joining.worker_factory,
            resume=request.resume,
        )

    # ---- for users

    def __iter__(self) -> Iterator[Any]:
        """Yields micro-batches of this worker's share. Call job.push() once for each."""
        try:
            for task in self._tasks():
                self._size = int(self.about.get('grain') or self._size)
                self._take(self._copied(task.parameters))
                if task.kind == _worker.EVALUATE:
                    self._evaluate(task)
                else:
                    yield from self._train(task)
        finally:
            self._count, self._in_body = None, False

    def push(self, loss: Any, gradients: Any, weight: Any = None) -> None:
        """Adds the mean loss of a micro-batch and its gradients, multiplied by `weight`. Call it once
        for each micro-batch. `weight` defaults to the number of samples; give the number of tokens
        if `loss` is a mean over tokens, and 0 to skip a micro-batch."""
        self._check_process()
        if not self._in_body:
            raise refuse('job.push() outside of the loop: call it in the body of `for ... in job:`')
        if self._count is None:
            raise refuse(
                'job.push() was called twice for one micro-batch: call it once, with the mean'
            )
        if any(it != 1 for it in getattr(loss, 'shape', ())):
            raise refuse(
                f'job.push() got a loss of shape {tuple(loss.shape)}: give one number, the mean '
                'over the micro-batch'
            )
        its_weight = weight_of(weight, self._count)
        arrays = self._checked(self._listed(gradients))
        self._count = None
        self._piece.weight += its_weight
        if its_weight:
            self._piece.losses.append((loss, its_weight))
            self._piece.gradient = self._added(self._piece.gradient, arrays, its_weight)

    # ---- for subclasses

    def _take(self, parts: list[np.ndarray]) -> None:
        """Loads parameters into the framework. The arrays are not shared and may be kept."""
        raise NotImplementedError

    def _given(self, batch: tuple[np.ndarray, ...]) -> Any:
        """Converts a batch for the body of the loop."""
        return batch

    def _begin(self, seed: int) -> None:
        """Called at the begin of a piece."""

    def _listed(self, gradients: Any) -> list[Any]:
        """Returns one array, or None for zeros, for each entry with optimizer steps."""
        raise NotImplementedError

    def _added(self, total: Any, gradients: list[Any], weight: float) -> list[Any]:
        """Returns total + weight * gradient. `total` is None at first, and may be overwritten."""
        added = [
            None if it is None else np.multiply(as_numpy(it), weight, dtype=np.float32)
            for it in gradients
        ]
        return added if total is None else [_sum(*pair) for pair in zip(total, added)]

    def _fetched(self, gradient: Any) -> np.ndarray:
        """Copies an accumulated gradient to host memory."""
        return np.asarray(gradient)

    def _moved(self) -> list[Any]:
        """The change of each averaged entry since _take()."""
        return []

    def _scored(self, score: Score, batch: tuple[np.ndarray, ...]) -> Any:
        """Calls the user's score for a batch of test samples."""
        raise NotImplementedError

    # ---- the loop

    def _train(self, task: Task) -> Iterator[Any]:
        self._piece = Piece(len(task.samples))
        seed = piece_seed(int(self.about.get('seed', self._request.seed)), task)
        self._begin(seed)
        for number, samples in enumerate(divided(task.samples, self._size)):
            self.draw = (seed + number) % 2**31
            batch = self._given(self._train_set.batch(samples, self._size))
            self._count, self._in_body = len(samples), True
            yield batch
            self._in_body = False
            if self._count is not None:
                raise refuse(
                    'the body of the loop ended without job.push(loss, gradients): call it once '
                    'for each micro-batch, with weight=0 to skip one'
                )
            if not self._worker.wanted():
                return
        self._finish(task)

    def _finish(self, task: Task) -> None:
        piece = self._piece
        gradients = iter(piece.gradient or [None] * len(self._stepped))
        moved = iter(self._moved())
        into = self._flat.parts(np.frombuffer(task.gradient, np.float32))
        for entry, part in zip(self._flat.entries, into):
            if entry.averaged:
                part[...] = np.asarray(next(moved)) * np.float32(piece.weight)
            else:
                gradient = next(gradients)
                part[...] = 0 if gradient is None else self._fetched(gradient)
        if piece.weight != piece.samples:
            self._worker.weigh(piece.weight)
        self._worker.done(piece.loss(), None)

    def _checked(self, arrays: list[Any]) -> list[Any]:
        if len(arrays) != len(self._stepped):
            raise refuse(
                f'job.push() got {len(arrays)} gradients of {len(self._stepped)} parameters: give '
                'one for each, in the same order'
            )
        for entry, array in zip(self._stepped, arrays):
            if array is not None and tuple(np.shape(array)) != entry.shape:
                raise refuse(
                    f'the gradient of {entry.name} has the shape {tuple(np.shape(array))}, but the '
                    f'parameter has {entry.shape}'
                )
        return arrays

    def _evaluate(self, task: Task) -> None:
        assert self._test_set is not None and self._request.score is not None
        loss, right = 0.0, None  # type: float, Optional[int]
        for samples in divided(task.samples, self._size):
            result = self._scored(self._request.score, self._test_set.batch(samples, self._size))
            mean, hits = result if isinstance(result, tuple) else (result, None)
            if hits is not None and np.shape(hits) != (self._size,):
                raise refuse(
                    f'score returned correct answers of the shape {tuple(np.shape(hits))}: return '
                    f'(mean loss, an array of {self._size} booleans, one for each sample)'
                )
            loss += float(mean) * len(samples)
            if hits is not None:
                right = (right or 0) + int(np.asarray(hits)[: len(samples)].sum())
            if not self._worker.wanted():
                return
        self._worker.done(loss, right)

    def _copied(self, floats: Any) -> list[np.ndarray]:
        """Views into a copy. The task's buffer is valid only until the task is done, and frameworks
        may share the memory of arrays that they receive."""
        flat = np.array(np.frombuffer(floats, np.float32))
        flat.flags.writeable = False
        return self._flat.parts(flat)

    def _take_final(self, task: Task) -> None:
        if task.parameters is not None:
            self._take(self._copied(task.parameters))

    def _explain(self, error: BaseException) -> Optional[str]:
        if _out_of_memory(error):
            return (
                f'memory is too small for micro-batches of {self._size} samples, the size for all '
                'workers: give a smaller micro_batch to join()'
            )
        return None

    def _is_own_trouble(self, error: BaseException) -> bool:
        return _out_of_memory(error) or super()._is_own_trouble(error)


def _sum(total: Optional[np.ndarray], more: Optional[np.ndarray]) -> Optional[np.ndarray]:
    if total is None or more is None:
        return more if total is None else total
    total += more
    return total


def _out_of_memory(error: BaseException) -> bool:
    return (
        isinstance(error, MemoryError)
        or type(error).__name__ == 'ResourceExhaustedError'
        or 'RESOURCE_EXHAUSTED' in str(error)
    )
