"""A worker of a job, as include/steelyard/steelyard.h has it, in Python's types.

One thread calls its methods, but for final(), wanted() and leave(), which any thread may call.
"""

from __future__ import annotations

import ctypes
import dataclasses
import functools
import json
from typing import Any, Optional, Protocol, Sequence

from steelyard._library import CTask, check, check_pointer, error_text, library

WAIT, JOINED, TRAIN, EVALUATE, END = range(5)


@functools.lru_cache(maxsize=None)
def _floats(size: int) -> Any:
    return ctypes.c_float * size


@dataclasses.dataclass(frozen=True)
class Task:
    """What there is to do. `parameters` and `gradient` are arrays of C floats without a copy:
    anything that takes a buffer (torch.frombuffer, numpy.frombuffer, memoryview) reads and writes
    them. They are valid until the task is done or given up; those of the end, until the worker is
    freed."""

    kind: int  # WAIT, JOINED, TRAIN, EVALUATE, END
    parameters: Any = None  # to compute from; of the end: the last ones, or None
    gradient: Any = None  # TRAIN: to be written, all of it
    samples: Sequence[int] = ()  # their numbers, in order
    epoch: int = 0
    position: int = 0  # of the first sample, in the order of this epoch
    code: int = 0  # END: the exit code
    main: bool = False  # END: whether this one of all workers is to keep the results
    message: str = ''  # END: what happened, if not all went well


class WorkerLike(Protocol):
    """What a job needs of a worker; Worker has it, and so have stand-ins in tests."""

    def next(self, seconds: float) -> Task: ...
    def job(self) -> dict[str, Any]: ...
    def samples(self, epoch: int, begin: int, end: int) -> list[int]: ...
    def weigh(self, weight: float) -> None: ...
    def final(self, begin: int, end: int) -> None: ...
    def wanted(self) -> bool: ...
    def done(self, loss: float, correct: int) -> None: ...
    def leave(self, failure: Optional[str] = None) -> None: ...
    def free(self) -> None: ...


class Worker:
    """Joins a job when it is made. `description`: the keys that steelyard_join() lists.
    `weights`: the address of the first parameters, or anything that ctypes takes for one; they
    are copied."""

    def __init__(self, description: dict[str, Any], weights: Any) -> None:
        self._library = library()
        self._size = sum(_product(tensor['shape']) for tensor in description['tensors'])
        self._handle: Optional[int] = check_pointer(
            self._library.steelyard_join(json.dumps(description).encode(), weights)
        )

    def next(self, seconds: float) -> Task:
        """Waits up to `seconds` for something to do. A task that was given before and is not done
        is given up."""
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
        )

    def job(self) -> dict[str, Any]:
        """The job that took this worker, once JOINED was given."""
        text = self._library.steelyard_job(self._handle)
        check_pointer(text)
        return json.loads(text)

    def samples(self, epoch: int, begin: int, end: int) -> list[int]:
        """Numbers of the training samples at positions [begin, end) of an epoch."""
        into = (ctypes.c_uint64 * max(end - begin, 0))()
        check(self._library.steelyard_samples(self._handle, epoch, begin, end, into))
        return into[:]

    def weigh(self, weight: float) -> None:
        """The weight of this task's gradient, in all; before its first final()."""
        check(self._library.steelyard_weigh(self._handle, weight))

    def final(self, begin: int, end: int) -> None:
        """Floats [begin, end) of the gradient will not change any more."""
        check(self._library.steelyard_final(self._handle, begin, end))

    def wanted(self) -> bool:
        """Whether the task is still wanted. A sign of life, too."""
        return self._library.steelyard_wanted(self._handle) != 0

    def done(self, loss: float, correct: int) -> None:
        """The task is done: sums over its samples of the loss (not weighted), and of right
        answers."""
        check(self._library.steelyard_done(self._handle, loss, correct))

    def leave(self, failure: Optional[str] = None) -> None:
        """Leaves the job; what is owed is computed by others. Does not wait."""
        if self._handle:
            self._library.steelyard_leave(self._handle, failure.encode() if failure else None)

    def free(self) -> None:
        """Leaves, if that is not done yet, and frees all of it, once."""
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
