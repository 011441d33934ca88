"""A Python wrapper of steelyard_worker (include/steelyard/steelyard.h).

One thread calls its methods. Only final(), wanted(), stop() and leave() may be called from any thread.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
import os
from typing import Any, Optional, Protocol, Sequence

from steelyard._library import CTask, check, check_pointer, error_text, library

WAIT, JOINED, TRAIN, EVALUATE, END, STEP, WRITE_STATE, READ_STATE = range(8)
UNCOUNTED = 2**64 - 1


@functools.lru_cache(maxsize=None)
def _floats(size: int) -> Any:
    return ctypes.c_float * size


@dataclasses.dataclass(frozen=True)
class Task:
    """A task or event. `parameters` and `gradient` are ctypes arrays of the library's own memory. They
    support the buffer protocol (torch.frombuffer, numpy.frombuffer, memoryview). They are valid until
    the task is done or abandoned; those of END, until the worker is freed."""

    kind: int  # WAIT, JOINED, TRAIN, ...: see steelyard_next()
    parameters: Any = None  # TRAIN, EVALUATE: the version to use. END: the last version, or None
    gradient: Any = None  # TRAIN: output buffer; all of it must be written
    samples: Sequence[int] = ()  # sample numbers, in order
    epoch: int = 0  # END: where training would go on
    position: int = 0  # of the first sample, in the order of this epoch
    code: int = 0  # END: the exit code
    main: bool = False  # END: True for the one worker that should save the results
    message: str = ''  # END: the reason of a failure
    version: int = 0  # STEP, WRITE_STATE, READ_STATE: the number of steps
    path: str = ''  # WRITE_STATE, READ_STATE: a file


class WorkerLike(Protocol):
    """The interface of a worker. Implemented by Worker and by stand-ins in tests."""

    def next(self, seconds: float) -> Task: ...
    def job(self) -> dict[str, Any]: ...
    def samples(self, epoch: int, begin: int, end: int) -> list[int]: ...
    def weigh(self, weight: float) -> None: ...
    def final(self, begin: int, end: int) -> None: ...
    def wanted(self) -> bool: ...
    def done(self, loss: float, correct: Optional[int]) -> None: ...
    def lose_state(self) -> None: ...
    def stop(self, now: bool) -> None: ...
    def leave(self, failure: Optional[str] = None) -> None: ...
    def free(self) -> None: ...


class Worker:
    """Joins a job on construction. `description`: the keys of steelyard_join(). `weights`: the address
    of the initial parameters, or anything that ctypes converts to one; they are copied."""

    def __init__(self, description: dict[str, Any], weights: Any) -> None:
        self._library = library()
        self._size = sum(_product(tensor['shape']) for tensor in description['tensors'])
        self._handle: Optional[int] = check_pointer(
            self._library.steelyard_join(json.dumps(description).encode(), weights)
        )

    def next(self, seconds: float) -> Task:
        """Waits up to `seconds` for a task or event. If the previous task is not done, it is
        abandoned."""
        task = CTask()
        check(self._library.steelyard_next(self._handle, seconds, ctypes.byref(task)))
        samples: Sequence[int] = ()
        if task.count and task.samples:
            samples = (ctypes.c_uint64 * task.count).from_address(task.samples)[:]
        return Task(
            kind=task.kind,
            parameters=self._array(task.parameters),
            gradient=self._array(task.gradient),
            samples=samples,
            epoch=task.epoch,
            position=task.position,
            code=task.code,
            main=bool(task.main),
            message=error_text() if task.kind == END else '',
            version=task.version,
            path=os.fsdecode(task.path) if task.path else '',
        )

    def job(self) -> dict[str, Any]:
        """Properties of the job, after JOINED; see steelyard_job()."""
        text = self._library.steelyard_job(self._handle)
        check_pointer(text)
        about: dict[str, Any] = json.loads(text)
        return about

    def samples(self, epoch: int, begin: int, end: int) -> list[int]:
        """The numbers of the training samples at positions [begin, end) of an epoch."""
        into = (ctypes.c_uint64 * max(end - begin, 0))()
        check(self._library.steelyard_samples(self._handle, epoch, begin, end, into))
        return into[:]

    def weigh(self, weight: float) -> None:
        """Sets the total weight of this task's gradient and loss. Call it before the first final()."""
        check(self._library.steelyard_weigh(self._handle, weight))

    def final(self, begin: int, end: int) -> None:
        """Marks elements [begin, end) of the gradient as final: they must not change any more."""
        check(self._library.steelyard_final(self._handle, begin, end))

    def wanted(self) -> bool:
        """Whether the task is still wanted. Also counts as a sign of life."""
        return bool(self._library.steelyard_wanted(self._handle))

    def done(self, loss: float, correct: Optional[int]) -> None:
        """Finishes the task. `loss` and `correct` are sums over its samples; losses are weighted if weigh()
        was called. `correct` None: correct answers are not counted."""
        check(self._library.steelyard_done(self._handle, loss, UNCOUNTED if correct is None else correct))

    def lose_state(self) -> None:
        """Discards this worker's own copy of the model; READ_STATE follows."""
        if self._handle:
            self._library.steelyard_lose_state(self._handle)

    def stop(self, now: bool) -> None:
        """Requests the end of the job for all workers, as a success, after the current round. `now`:
        without the open round; the task may then be abandoned."""
        if self._handle:
            self._library.steelyard_stop(self._handle, int(now))

    def leave(self, failure: Optional[str] = None) -> None:
        """Leaves the job without waiting; other workers compute its open pieces. `failure`: the
        reason, if other workers would fail in the same way."""
        if self._handle:
            self._library.steelyard_leave(self._handle, failure.encode() if failure else None)

    def free(self) -> None:
        """Leaves the job if necessary, and frees the worker. Further calls have no effect."""
        handle, self._handle = self._handle, None
        if handle:
            self._library.steelyard_free(handle)

    def _array(self, address: Optional[int]) -> Any:
        return _floats(self._size).from_address(address) if address else None


def _product(shape: Sequence[int]) -> int:
    product = 1
    for size in shape:
        product *= size
    return product
