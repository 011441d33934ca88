"""The loop of a job whose user computes gradients, and pushes them: arrays, JAX, Keras.

    for batch in job:              # (x, y, weights), or what the framework's job makes of it
        job.push(loss, gradients)

Micro-batches are of one size for the whole job; _pieces.py says how they are filled up.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Callable, Iterator, Mapping, Optional, Sequence

import numpy as np

from steelyard import _joining, _worker
from steelyard._errors import refuse
from steelyard._flat import Flat, as_numpy
from steelyard._job import BaseJob
from steelyard._joining import checked_batch, job_keys, placed
from steelyard._pieces import Piece, divided, dividing, piece_seed, weight_of
from steelyard._samples import SampleSource
from steelyard._worker import Task

Score = Callable[..., Any]


@dataclasses.dataclass
class Request:
    """What all frameworks' join() are told."""

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
    more: Mapping[str, Any]

    @classmethod
    def of(cls, arguments: Mapping[str, Any]) -> Request:
        """From the arguments of a join(), by name: its locals()."""
        return cls(**{it.name: arguments[it.name] for it in dataclasses.fields(cls)})

    def __post_init__(self) -> None:
        self.batch = checked_batch(self.batch)
        if (self.test is None) != (self.score is None):
            raise refuse('test and score belong together: give both, or none of them')
        if self.micro_batch is not None and int(self.micro_batch) < 1:
            raise refuse(f'micro_batch = {self.micro_batch}: give at least 1')


class PushJob(BaseJob):
    """Go through it once. A framework's job says how parameters are taken over and gradients are
    added up.

    job.main     after the loop: whether this process is to keep the results
    job.epoch    of the batch at hand, from 0; job.round likewise, in its epoch
    job.draw     a number for the random draws of the batch at hand: the same on any worker
    job.worker   what people call this worker
    job.about    the job as the scheduler has it, once it has taken this worker
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
        self._count: Optional[int] = None  # samples in the loop's hands, until they are pushed
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
        description, cluster = placed(keys, about, kind, request.resume, request.run_dir)
        first = flat.gathered(weights)
        super().__init__(
            description,
            first.ctypes.data,
            cluster,
            factory=_joining.worker_factory,
            resume=request.resume,
        )

    # ---- what users call

    def __iter__(self) -> Iterator[Any]:
        """Micro-batches of this worker's share. Each has to be followed by one job.push()."""
        try:
            for task in self.tasks():
                self._size = int(self.about.get('grain') or self._size)
                self._take(self._copied(task.parameters))
                if task.kind == _worker.EVALUATE:
                    self._evaluate(task)
                else:
                    yield from self._train(task)
        finally:
            self._count, self._in_body = None, False

    def push(self, loss: Any, gradients: Any, weight: Any = None) -> None:
        """Takes the mean loss of a micro-batch and its gradients, and counts them `weight` times.
        `weight`: the number of samples, if it is not given; give the number of tokens if `loss` is
        a mean over tokens, and 0 to leave a micro-batch out. Once for each micro-batch."""
        self.check_process()
        if not self._in_body:
            raise refuse('job.push() outside of the loop: call it in the body of `for ... in job:`')
        if self._count is None:
            raise refuse(
                'job.push() was called twice for one micro-batch: call it once, with the mean'
            )
        if any(it != 1 for it in getattr(loss, 'shape', ())):
            raise refuse(
                f'job.push() was given a loss of shape {tuple(loss.shape)}: give one number, the '
                'mean over the micro-batch'
            )
        its_weight, count = weight_of(weight, self._count), self._count
        arrays = self._checked(self._listed(gradients))
        self._count = None
        self._piece.weight += its_weight
        if its_weight:
            self._piece.losses.append((loss, count))
            self._piece.gradient = self._added(self._piece.gradient, arrays, its_weight)

    # ---- what a framework's job says

    def _take(self, parts: list[np.ndarray]) -> None:
        """Takes parameters over; nobody else has these arrays."""
        raise NotImplementedError

    def _given(self, batch: tuple[np.ndarray, ...]) -> Any:
        """What the body of the loop gets."""
        return batch

    def _begin(self, seed: int) -> None:
        """A piece begins."""

    def _listed(self, gradients: Any) -> list[Any]:
        """An array, or None for zeros, for each entry that is stepped."""
        raise NotImplementedError

    def _added(self, total: Any, gradients: list[Any], weight: float) -> list[Any]:
        """The sum of weight times gradient; `total` is None at first, and may be written to."""
        added = [
            None if it is None else np.multiply(as_numpy(it), weight, dtype=np.float32)
            for it in gradients
        ]
        return added if total is None else [_sum(*pair) for pair in zip(total, added)]

    def _fetched(self, gradient: Any) -> np.ndarray:
        """An added gradient, in this process's memory."""
        return np.asarray(gradient)

    def _moved(self) -> list[Any]:
        """How far each entry that is averaged has moved since _take()."""
        return []

    def _scored(self, score: Score, batch: tuple[np.ndarray, ...]) -> Any:
        """What the user's score gives for a batch of test samples."""
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
                    'for each micro-batch, with weight=0 for one that is to be left out'
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
        self._worker.done(piece.loss(), 0)

    def _checked(self, arrays: list[Any]) -> list[Any]:
        if len(arrays) != len(self._stepped):
            raise refuse(
                f'job.push() was given {len(arrays)} gradients of {len(self._stepped)} '
                'parameters: give one for each, in their order'
            )
        for entry, array in zip(self._stepped, arrays):
            if array is not None and tuple(np.shape(array)) != entry.shape:
                raise refuse(
                    f'the gradient of {entry.name} has the shape {tuple(np.shape(array))}, and '
                    f'the parameter has {entry.shape}'
                )
        return arrays

    def _evaluate(self, task: Task) -> None:
        assert self._test_set is not None and self._request.score is not None
        loss, right = 0.0, 0
        for samples in divided(task.samples, self._size):
            result = self._scored(self._request.score, self._test_set.batch(samples, self._size))
            mean, hits = result if isinstance(result, tuple) else (result, np.zeros(self._size))
            if np.shape(hits) != (self._size,):
                raise refuse(
                    f'score gave right answers of the shape {tuple(np.shape(hits))}: give (mean '
                    f'loss, for each of the {self._size} samples whether its answer is right)'
                )
            loss += float(mean) * len(samples)
            right += int(np.asarray(hits)[: len(samples)].sum())
            if not self._worker.wanted():
                return
        self._worker.done(loss, right)

    def _copied(self, floats: Any) -> list[np.ndarray]:
        """Parts of a copy: what the task holds is valid only until it is done, and frameworks may
        share the memory of arrays that they are given."""
        flat = np.array(np.frombuffer(floats, np.float32))
        flat.flags.writeable = False
        return self._flat.parts(flat)

    def take_final(self, task: Task) -> None:
        if task.parameters is not None:
            self._take(self._copied(task.parameters))

    def explain(self, error: BaseException) -> Optional[str]:
        if _out_of_memory(error):
            return (
                f'memory is too small for micro-batches of {self._size} samples, which is the '
                'size for all workers: give a smaller micro_batch to join()'
            )
        return None

    def is_own_trouble(self, error: BaseException) -> bool:
        return _out_of_memory(error) or super().is_own_trouble(error)


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
