"""The base of the jobs of all frameworks: joining, the loop over tasks, and leaving.

    job = BaseJob(description, weights, cluster)
    for task in job._tasks():                 # TRAIN and EVALUATE
        ... compute ...; job.worker.done(loss, correct)
    # here the job is over: job.final_parameters, job.main

If the user's code raises an exception, this worker leaves the job and reports the text. Other
workers continue; without other workers the job ends with that text. After Ctrl-C, or if the script
ends early, this worker leaves without a failure.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import traceback
import weakref
from typing import Any, Callable, Generator, Iterator, Optional

from steelyard import _worker
from steelyard._cluster import GivenCluster
from steelyard._errors import USAGE, Failure, refuse
from steelyard._history import read_history
from steelyard._worker import Task, Worker, WorkerLike

SLICE = 0.2  # seconds per wait, so that Ctrl-C is handled between waits
GRACE = 1.0  # seconds after the loop was left in which an uncaught exception is expected to arrive

_TASKS = frozenset(
    (_worker.TRAIN, _worker.EVALUATE, _worker.STEP, _worker.WRITE_STATE, _worker.READ_STATE)
)

Factory = Callable[[dict[str, Any], Any], WorkerLike]


class BaseJob:
    """One worker's part in a job, from joining to the end. `factory` makes the worker from
    description and weights."""

    def __init__(
        self,
        description: dict[str, Any],
        weights: Any,
        cluster: GivenCluster,
        *,
        factory: Factory = Worker,
        resume: bool = False,
    ) -> None:
        self.epoch = 0  # of the current task, from 0
        self.position = 0  # of the current task's first sample, in the order of its epoch
        self.resume = resume  # whether the job resumes from a checkpoint
        self.about: dict[
            str, Any
        ] = {}  # properties of the job after joining; see steelyard_job()
        self._cluster = cluster
        self._owner = os.getpid()
        self._over = False
        self._main = False
        self._outcome: Optional[str] = None
        self._loads = True  # whether take_final() is called at the end
        self._left = False  # the loop was left by `break` or by an exception
        self._settling = threading.RLock()
        self._leaving: Optional[threading.Timer] = None
        self._loop_began = False
        try:
            self._worker = factory(description, weights)
        except BaseException:
            cluster.close()
            raise
        _Life.watch(self)

    @property
    def main(self) -> bool:
        """After the loop: True in the one process that should save the results."""
        self._settle()
        return self._main

    @property
    def outcome(self) -> Optional[str]:
        """After the loop: "finished", or the failure."""
        self._settle()
        return self._outcome

    @property
    def over(self) -> bool:
        """Whether the job has ended for this worker."""
        return self._over

    @property
    def worker(self) -> str:
        """The name of this worker."""
        return self.about.get('worker') or self._cluster.worker_name or f'process {self._owner}'

    @property
    def round(self) -> int:
        """The round of the current task, from 0 in each epoch."""
        return self.position // max(1, int(self.about.get('batch', 1)))

    @property
    def logs(self) -> bool:
        """Whether this worker writes the logs of the job: True in the first worker that joined, and in a
        process that replaces it under its name. Waits until this worker has joined."""
        self.wait_until_joined()
        return self.about.get('slot') == 0

    @property
    def total_rounds(self) -> Optional[int]:
        """The number of rounds of the whole job; None if it has no limit. Waits until this worker has
        joined."""
        self.wait_until_joined()
        rounds, epochs = (int(self.about.get(it) or 0) for it in ('rounds', 'epochs'))
        limits = [it for it in (rounds, epochs * self._rounds_per_epoch()) if it]
        return min(limits, default=None)

    @property
    def rounds_done(self) -> int:
        """The number of rounds before the current one, over all epochs and workers."""
        if self.outcome == 'finished' and self.total_rounds is not None:
            return self.total_rounds
        return self.epoch * self._rounds_per_epoch() + self.round

    @property
    def run_directory(self) -> Optional[str]:
        """The directory of the results; None if it is on another machine."""
        return self._cluster.run_directory

    @property
    def history(self) -> list[dict[str, Any]]:
        """The rounds and evaluations of all workers so far, as dictionaries with the keys epoch, round
        (over all epochs), purpose ("train" or "evaluate"), loss, accuracy (None if it is not counted),
        samples, and seconds since the start. Empty if the run directory is on another machine. The
        last half second may be missing during the job."""
        return read_history(self.run_directory, self.outcome == 'finished')

    def bar(self, **options: Any) -> Iterator[Any]:
        """The loop over this job with a bar of tqdm, which counts rounds of all workers. Only the worker
        with `logs` shows it: `for x, y in job.bar(): ...`. `options`: of tqdm."""
        try:
            from tqdm.auto import tqdm
        except ImportError as why:
            raise refuse(
                'job.bar() needs tqdm: install it (pip install tqdm), or iterate over the job itself'
            ) from why

        with tqdm(total=self.total_rounds, disable=not self.logs, **{'unit': 'round', **options}) as bar:
            for batch in self:  # type: ignore[attr-defined]
                bar.update(self.rounds_done - bar.n)
                yield batch
            bar.update(self.rounds_done - bar.n)

    def __len__(self) -> int:
        raise TypeError(
            'a job has no length, because the number of its micro-batches is not known: '
            'job.total_rounds is the number of rounds, and job.bar() shows them'
        )

    def __bool__(self) -> bool:
        return True

    def _rounds_per_epoch(self) -> int:
        return -(-int(self.about.get('train_samples', 0)) // max(1, int(self.about.get('batch', 1))))

    def wait_until_joined(self) -> None:
        """Waits until this worker has joined; `about` is set then."""
        while not self.about and not self._over:
            self._step()

    def _tasks(self) -> Generator[Task, None, None]:
        """Yields tasks to compute. A task that is not done when the next one is requested is
        abandoned. At the end the final parameters are loaded; raises Failure if the job failed."""
        if self._loop_began:
            raise refuse('a job can be iterated over only once: remove the loop over epochs, '
                         'or call join() for another job')
        self._loop_began = True
        try:
            while not self._over:
                task = self._step()
                if task is not None:
                    if task.kind in (_worker.TRAIN, _worker.EVALUATE):
                        self.epoch, self.position = task.epoch, task.position
                    yield task
        except GeneratorExit:
            if not self._over:  # a thread that starts while the interpreter exits would hang
                self._leave_soon()
            raise

    def stop(self) -> None:
        """Ends the job for all workers, as a success, after the current round. Let the loop go on: it
        ends by itself, with the parameters of that round."""
        self._check_process()
        if not self._over:
            self._worker.stop(False)

    def _settle(self, load: bool = True) -> None:
        """After the loop was left by `break`: the only worker of a job ends it, with the parameters of
        the last whole round; others leave it. `load`: _take_final() may write to the model."""
        with self._settling:
            if not self._left or self._over or os.getpid() != self._owner:
                return
            self._stay()
            if self.about.get('workers') != 1:
                return self.leave()
            self._loads = load
            self._worker.stop(True)
            while not self._over:
                task = self._step()
                if task is not None:
                    self._task_after_loop(task)

    def leave(self, failure: Optional[str] = None) -> None:
        """Leaves the job. `failure`: the reason, if other workers would fail in the same way."""
        if os.getpid() != self._owner:
            return
        self._stay()
        with self._settling:
            if self._over:
                return
            self._over = True
        self._outcome = failure or 'left'
        self._worker.leave(failure)
        self._release()
        self._worker.free()
        self._cluster.close()
        _Life.forget(self)

    def _stay(self) -> None:
        """Cancels the timer that _leave_soon() started."""
        if self._leaving is not None:
            self._leaving.cancel()

    def _check_process(self) -> None:
        """Raises in a fork of the process that joined."""
        if os.getpid() != self._owner:
            raise Failure(
                'this process was forked from the one that joined the job: only that one may use '
                'it; start loader processes with forkserver or spawn',
                USAGE,
            )

    def _task_after_loop(self, task: Task) -> None:
        """Called for a task that arrives after the loop was left, before the end. By default it is
        abandoned."""

    def _take_final(self, task: Task) -> None:
        """Called at the end of a job; frameworks load task.parameters here."""

    def _release(self) -> None:
        """Called before the memory of tasks is freed; at least once."""

    def _explain(self, error: BaseException) -> Optional[str]:
        """A remedy for an exception of the user's code, printed after it, or None."""

    def _is_own_trouble(self, error: BaseException) -> bool:
        """Whether an exception concerns this worker only, so that others would not meet it."""
        return isinstance(error, (KeyboardInterrupt, SystemExit, GeneratorExit))

    def _leave_soon(self) -> None:
        """Called when the loop was left by `break` or by an exception; it is not known yet which. An
        uncaught exception ends the process before this timer fires."""
        self._left = True
        self._leaving = threading.Timer(GRACE, self._settle, [False])
        self._leaving.daemon = True
        self._leaving.start()

    def _step(self) -> Optional[Task]:
        self._check_process()
        task = self._worker.next(SLICE)
        if task.kind in _TASKS:
            return task
        if task.kind == _worker.JOINED:
            self.about = self._worker.job()
            _ = self._cluster.run_directory  # it can be read only while the cluster runs
        elif task.kind == _worker.END:
            self._end(task)
        else:
            self._cluster.check()
        return None

    def _end(self, task: Task) -> None:
        self._over = True
        self._main = task.main
        self._outcome = (
            'finished' if task.code == 0 else task.message or f'failed with code {task.code}'
        )
        try:
            if task.code != 0:
                self._cluster.close()
                raise Failure(self._outcome, task.code)
            if self._loads:
                self._take_final(task)
            self._release()
            self._worker.free()
            self._cluster.finish()
        finally:
            self._release()
            self._worker.free()
            _Life.forget(self)


class _Life:
    """Leaves all open jobs when the process exits, with the text of an uncaught exception if there
    was one."""

    _jobs: 'weakref.WeakSet[BaseJob]' = weakref.WeakSet()
    _lock = threading.Lock()
    _installed = False

    @classmethod
    def watch(cls, job: BaseJob) -> None:
        with cls._lock:
            cls._jobs.add(job)
            if not cls._installed:
                cls._installed = True
                atexit.register(cls._leave_all)
                sys.excepthook = cls._with_failure(sys.excepthook)

    @classmethod
    def forget(cls, job: BaseJob) -> None:
        with cls._lock:
            cls._jobs.discard(job)

    @classmethod
    def _leave_all(cls) -> None:
        for job in list(cls._jobs):
            job.leave()

    @classmethod
    def _with_failure(cls, shown_by: Callable[..., Any]) -> Callable[..., Any]:
        def hook(kind: Any, error: Any, trace: Any) -> None:
            jobs = list(cls._jobs)
            for job in jobs:
                job._stay()
            shown_by(kind, error, trace)
            for job in jobs:
                remedy = job._explain(error)
                if remedy:
                    print(f'steelyard: {remedy}', file=sys.stderr)
                job.leave(None if job._is_own_trouble(error) else failure_text(error))

        return hook


def failure_text(error: BaseException) -> str:
    """One line for users: the exception, and its file and line."""
    text = ''.join(traceback.format_exception_only(type(error), error)).strip().splitlines()
    frames = traceback.extract_tb(error.__traceback__)
    place = f' ({os.path.basename(frames[-1].filename)}:{frames[-1].lineno})' if frames else ''
    return (text[-1] if text else type(error).__name__) + place
