"""Sends gradients to the servers while backward() is running.

Each backward pass starts without gradients, and its result is added to the sum of the piece
(_torch_sum.py) before it returns, so a script may do with .grad what it likes.

In the backward pass of the last micro-batch of a piece, a hook runs after each parameter's gradient
is computed. It completes the sum in the task's flat buffer, row-major for any stride, and marks it as
final, so that it is sent while backward continues. Gradients without a hook call are added at the
end; they are zero for parameters that the loss does not depend on.

If a gradient is accumulated more than once in one backward (reentrant checkpointing), it is not yet
final when its hook runs. Therefore the first backward of a job only counts accumulations, and a
second accumulation disables this overlap for the rest of the job.

On CUDA, hooks collect gradients in buckets of 1 MB (_torch_staging.py). A full bucket gets an event on
the current stream (autograd may use its own), and is copied to the flat buffer on a separate stream. A
thread waits for the copy without the GIL, and then marks the gradients as final. backward() returns after
the last copy, so the script may then change .grad.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

import torch

from steelyard._errors import refuse
from steelyard._torch_parameters import Entry, Layout, view_of
from steelyard._torch_staging import dense, stager_of
from steelyard._torch_sum import GradientSum
from steelyard._worker import Task, WorkerLike

LEAST_FLOATS = 16384  # per call of final(), so that small tensors are announced together


class FinalRanges:
    """Merges adjacent final entries until they have `least` floats, then calls `tell`. Thread-safe."""

    def __init__(
        self, entries: list[Entry], tell: Callable[[int, int], None], least: int = LEAST_FLOATS
    ) -> None:
        self._entries, self._tell, self._least = entries, tell, least
        self._lock = threading.Lock()
        self.begin_task()

    def begin_task(self) -> None:
        self.told = [False] * len(self._entries)
        self.forget()

    def forget(self) -> None:
        """Discards entries that were written but not yet announced; they must be written again."""
        with self._lock:
            self.written = list(self.told)
            self._first_of: dict[int, int] = {}  # unannounced runs [first, behind): behind -> first
            self._behind_of: dict[int, int] = {}  # first -> behind

    def add(self, index: int) -> None:
        """Entry `index` has been written to the flat buffer and is final."""
        with self._lock:
            self.written[index] = True
            first = self._first_of.pop(index, index)
            behind = self._behind_of.pop(index + 1, index + 1)
            self._behind_of.pop(first, None)
            self._first_of.pop(behind, None)
            begin, end = self._entries[first].begin, self._entries[behind - 1].end
            if end - begin < self._least:
                self._first_of[behind], self._behind_of[first] = first, behind
                return
            self.told[first:behind] = [True] * (behind - first)
        self._tell(begin, end)

    def take_back(self, index: int) -> bool:
        """Withdraws entry `index`. Returns False if it was already announced."""
        with self._lock:
            if self.told[index]:
                return False
            self.written[index] = False
            self._least = 1 << 62  # runs that contain it are never announced
            return True


class Gradients:
    """The gradients of one model in one job. `overlap`: whether they may be sent during backward."""

    def __init__(self, layout: Layout, worker: WorkerLike, overlap: bool = True) -> None:
        self._layout, self._worker = layout, worker
        self.overlap = overlap
        self._ranges = FinalRanges(layout.parameters, worker.final)
        self._seen_one = False  # whether the first backward, which only counts, is done
        self._armed = False  # whether hooks send gradients in this backward
        self._inside = False  # whether job.backward() is running
        self._watching = False  # whether the body of the user's loop is running
        self._too_late = ''
        self._complete = False  # whether the flat buffer holds all gradients of the piece
        self._again = False  # whether the piece must be computed again
        self._on_top: set[int] = set()  # entries that this backward added to an earlier part of the sum
        self._fired = [0] * len(layout.parameters)
        self._stager = stager_of(layout, self._ranges.add)
        self._sum = GradientSum(layout, self._stager is not None)
        self._hooks: dict[int, Any] = {}  # by the number of the parameter
        self._hook_all()

    # ---- a piece

    def begin_task(self, task: Task) -> None:
        self.settle()
        self._into = torch.frombuffer(task.gradient, dtype=torch.float32)
        self._pulled = torch.frombuffer(task.parameters, dtype=torch.float32)
        self._ranges.begin_task()
        self._sum.begin_task(self._into)
        if self._stager is not None:
            self._stager.begin_task(self._into)
        self._hook_all()  # some parameters may have been unfrozen

    def begin_attempt(self) -> None:
        """Loads the task's parameters and buffers, and clears gradients."""
        self.settle()
        self._ranges.forget()
        self.clear()
        self._sum.begin_attempt()
        self._complete = self._again = False
        self._layout.load(self._pulled)

    def restore(self) -> None:
        """Loads the task's parameters and buffers again. The task must not be done."""
        self.settle()
        self._layout.load(self._pulled)

    def watch(self, on: bool) -> None:
        """While on, accumulation outside of job.backward() raises Failure."""
        self._watching = on

    def backward(self, loss: torch.Tensor, factor: float, last: bool) -> None:
        """Adds factor * d(loss) to the sum of the piece, and leaves it in .grad. In the `last` backward
        of a piece, gradients may be sent."""
        self.clear()
        self._fired = [0] * len(self._fired)
        self._on_top.clear()
        self._inside = True
        self._armed = last and self.overlap and self._seen_one
        try:
            (loss.float() * factor).backward()
        except BaseException:
            self.settle()  # the task may be abandoned, and its buffer used for another
            raise
        finally:
            self._inside = self._armed = False
        self._seen_one = True
        if self._too_late:
            raise refuse(
                f'the gradient of {self._too_late} changed after it was sent, because a part of '
                'the model runs backward several times in some rounds only: give overlap=False to '
                'join()'
            )
        if last:
            self._write_rest(fresh=True)
        else:
            self._sum.add(self._unwritten())

    def finish(self, weight: float, unscale: Optional[float] = None) -> bool:
        """Completes the gradients, and writes the changes of buffers, times `weight`. `unscale`: a factor
        on gradients. Returns False if the piece must be computed again: with `unscale`, because a
        gradient is not finite."""
        if not self._complete:  # the last micro-batch has the weight 0
            self._write_rest(fresh=False)
        if self._again:
            return False
        if unscale is not None:
            numbers = self._into[: self._layout.parameters[-1].end]
            numbers.mul_(unscale)
            if not bool(torch.isfinite(numbers).all()):
                return False
        self._layout.write_buffers(self._into, self._pulled, weight, self._stager)
        return True

    def clear(self) -> None:
        for entry in self._layout.parameters:
            entry.tensor.grad = None

    def free(self) -> None:
        """Frees the memory of gradients; the piece must be computed again."""
        self.settle()
        self.clear()
        self._sum.free()

    def settle(self) -> None:
        """Waits for pending copies."""
        if self._stager is not None:
            self._stager.settle()

    def release(self) -> None:
        """Call it before the memory of tasks is freed."""
        if self._stager is not None:
            self._stager.release()

    def close(self) -> None:
        self.clear()
        for hook in self._hooks.values():
            hook.remove()
        if self._stager is not None:
            self._stager.close()

    # ---- hooks

    def _hook_all(self) -> None:
        """Hooks all parameters that require a gradient now."""
        for index, entry in enumerate(self._layout.parameters):
            if entry.tensor.requires_grad and index not in self._hooks:
                self._hooks[index] = _hook_on(entry.tensor, self._hook(index))

    def _hook(self, index: int) -> Callable[[torch.Tensor], None]:
        entry = self._layout.parameters[index]

        def hook(parameter: torch.Tensor) -> None:
            if not self._inside:
                if self._watching:
                    raise refuse(
                        f'{entry.names[0]} got a gradient outside of job.backward(): call '
                        'job.backward(loss) instead of loss.backward()'
                    )
                return
            self._fired[index] += 1
            if self._fired[index] > 1:
                self._second_time(index)
            elif self._armed and not self._ranges.told[index]:
                self._send(index)

        return hook

    def _second_time(self, index: int) -> None:
        self.overlap = self._armed = False
        self.settle()
        if not self._ranges.take_back(index):
            self._too_late = self._layout.parameters[index].names[0]
        elif index in self._on_top:
            self._again = True  # what the first time added cannot be taken out of the sum
        else:
            self._sum.begun[index] = False

    def _send(self, index: int) -> None:
        begun = self._sum.begun[index]
        if begun:
            self._on_top.add(index)
        if self._stager is None:
            self._sum.add([index])
            self._ranges.add(index)
        elif begun:
            self._sum.add([index])
            self._stager.send(index, self._sum.place(index))
        else:
            self._stager.send(index, dense(self._layout.parameters[index].tensor.grad))

    def _unwritten(self) -> list[int]:
        return [index for index, there in enumerate(self._ranges.written) if not there]

    def _write_rest(self, fresh: bool) -> None:
        """Completes the flat buffer. `fresh`: .grad is not yet added to the sum."""
        self.settle()
        self._complete = True
        rest = self._unwritten()
        if self._stager is None:
            if fresh:
                self._sum.add(rest)
            for index in rest:
                if not self._sum.begun[index]:
                    view_of(self._into, self._layout.parameters[index]).zero_()
            return
        if fresh:
            self._sum.add([index for index in rest if self._sum.begun[index]])
        with torch.no_grad():
            for index in rest:
                entry = self._layout.parameters[index]
                total = self._sum.place(index) if self._sum.begun[index] else None
                if total is None and fresh and entry.tensor.grad is not None:
                    total = dense(entry.tensor.grad)
                if total is None:
                    view_of(self._into, entry).zero_()
                else:
                    self._stager.send(index, total, tell=False)
        self.settle()


def _hook_on(parameter: torch.Tensor, hook: Callable[[torch.Tensor], None]) -> Any:
    """Calls hook(parameter) after each accumulation into parameter.grad. Returns a handle with
    remove()."""
    register = getattr(parameter, 'register_post_accumulate_grad_hook', None)
    if register is not None:
        return register(hook)
    with torch.enable_grad():
        expanded: Any = parameter.expand_as(parameter)
        node = expanded.grad_fn.next_functions[0][0]  # AccumulateGrad
    return _NodeHook(node, node.register_hook(lambda *_: hook(parameter)))


class _NodeHook:
    """Holds a reference to the node, which would otherwise be freed together with its hook."""

    def __init__(self, node: Any, handle: Any) -> None:
        self._node, self._handle = node, handle

    def remove(self) -> None:
        self._handle.remove()
