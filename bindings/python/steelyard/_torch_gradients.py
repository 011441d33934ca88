"""Gradients on their way from backward() to the servers.

While the last micro-batch of a piece goes backward, a hook behind each parameter's accumulation
copies its gradient to the task's flat buffer, in row-major order whatever its stride, and says
that it is final: it is sent while backward goes on. What no hook brought is copied at the end:
zero for parameters that the loss does not depend on.

A parameter whose gradient is accumulated more than once in one backward (reentrant checkpointing)
is not final when its hook runs. So the first backward of a job only counts, and a second
accumulation turns sending ahead off for good.

On CUDA a hook records an event on its stream (autograd may have its own) and enqueues a copy to
pinned memory on a stream for copies; a thread waits for that without the GIL, and copies on. The
gradients themselves stay in place until then.
"""

from __future__ import annotations

import threading
from typing import Any, Callable, Optional

import torch

from steelyard._errors import refuse
from steelyard._torch_parameters import Entry, Layout, copy_all, view_of
from steelyard._torch_staging import DeviceStager, dense
from steelyard._worker import Task, WorkerLike

LEAST_FLOATS = 16384  # told at once, so that not each bias is a call of its own


class FinalRanges:
    """Joins neighbouring entries that are final, until they are worth a call. Any thread."""

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
        """What is written and was not told is to be written again."""
        with self._lock:
            self.written = list(self.told)
            self._first_of: dict[int, int] = {}  # runs of entries [first, behind), by `behind`
            self._behind_of: dict[int, int] = {}  # and by `first`

    def add(self, index: int) -> None:
        """Entry `index` is in the flat buffer and will not change."""
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
        """Entry `index` changed after all. False: too late, it was told."""
        with self._lock:
            if self.told[index]:
                return False
            self.written[index] = False
            self._least = 1 << 62  # runs that hold it stay untold
            return True


class Gradients:
    """Of one model in one job. `overlap`: whether gradients may be sent while backward goes
    on."""

    def __init__(self, layout: Layout, worker: WorkerLike, overlap: bool = True) -> None:
        self._layout, self._worker = layout, worker
        self.overlap = overlap
        self._ranges = FinalRanges(layout.parameters, worker.final)
        self._seen_one = False  # a backward without a second accumulation
        self._armed = False
        self._inside = False  # of job.backward()
        self._watching = False  # the body of the user's loop runs
        self._too_late = ''
        self._fired = [0] * len(layout.parameters)
        devices = {it.tensor.device for it in layout.parameters}
        on_device = any(it.type == 'cuda' for it in devices)
        self._stager = DeviceStager(layout, self._arrived) if on_device else None
        self._hooks = [
            _hook_on(entry.tensor, self._hook(index))
            for index, entry in enumerate(layout.parameters)
        ]

    # ---- a piece

    def begin_task(self, task: Task) -> None:
        self._into = torch.frombuffer(task.gradient, dtype=torch.float32)
        self._pulled = torch.frombuffer(task.parameters, dtype=torch.float32)
        self._ranges.begin_task()

    def begin_attempt(self) -> None:
        """Parameters and buffers are those of the task, gradients none."""
        self.settle()
        self._ranges.forget()
        self.clear()
        self._layout.load(self._pulled)

    def watch(self, on: bool) -> None:
        """Whether accumulation outside of job.backward() is a mistake to be explained."""
        self._watching = on

    def backward(self, loss: torch.Tensor, factor: float, last: bool) -> None:
        """Accumulates factor * d(loss). After the `last` one gradients may be on their way."""
        self._fired = [0] * len(self._fired)
        self._inside = True
        self._armed = last and self.overlap and self._seen_one
        try:
            (loss.float() * factor).backward()
        finally:
            self._inside = self._armed = False
        self._seen_one = True
        if self._too_late:
            raise refuse(
                f'the gradient of {self._too_late} changed after it was sent: a part of the '
                'model goes backward in several passes, in some rounds only: give '
                'overlap=False to join()'
            )

    def finish(self, weight: float, unscale: Optional[float] = None) -> bool:
        """Writes what is missing. With `unscale`, gradients are multiplied by it, and False says
        that there were numbers that are not finite."""
        self.settle()
        missing = [index for index, there in enumerate(self._ranges.written) if not there]
        self._write(missing)
        if unscale is not None:
            numbers = self._into[: self._layout.parameters[-1].end]
            numbers.mul_(unscale)
            if not bool(torch.isfinite(numbers).all()):
                return False
        with torch.no_grad():
            for entry in self._layout.buffers:
                place, pulled = view_of(self._into, entry), view_of(self._pulled, entry)
                place.copy_(entry.tensor.detach()).sub_(pulled).mul_(weight)
        return True

    def clear(self) -> None:
        for entry in self._layout.parameters:
            entry.tensor.grad = None

    def settle(self) -> None:
        """Waits for copies that are under way."""
        if self._stager is not None:
            self._stager.settle()

    def close(self) -> None:
        self.clear()
        for hook in self._hooks:
            hook.remove()
        if self._stager is not None:
            self._stager.close()

    # ---- hooks

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

    def _send(self, index: int) -> None:
        entry = self._layout.parameters[index]
        if self._stager is not None:
            self._stager.send(index)
            return
        with torch.no_grad():
            view_of(self._into, entry).copy_(dense(entry.tensor.grad))
        self._ranges.add(index)

    def _arrived(self, index: int, staged: torch.Tensor) -> None:
        view_of(self._into, self._layout.parameters[index]).copy_(staged)
        self._ranges.add(index)

    def _write(self, indices: list[int]) -> None:
        into: list[torch.Tensor] = []
        sources: list[torch.Tensor] = []
        with torch.no_grad():
            for index in indices:
                entry = self._layout.parameters[index]
                if entry.tensor.grad is None:
                    view_of(self._into, entry).zero_()
                elif entry.tensor.numel():
                    into.append(view_of(self._into, entry))
                    sources.append(dense(entry.tensor.grad))
            if self._stager is not None:
                self._stager.copy(into, sources)
            elif into:
                copy_all(into, sources)


def _hook_on(parameter: torch.Tensor, hook: Callable[[torch.Tensor], None]) -> Any:
    """Calls hook(parameter) after each accumulation into parameter.grad. Gives what removes
    it."""
    register = getattr(parameter, 'register_post_accumulate_grad_hook', None)
    if register is not None:
        return register(hook)
    with torch.enable_grad():
        node = parameter.expand_as(parameter).grad_fn.next_functions[0][0]  # it accumulates
    return _NodeHook(node, node.register_hook(lambda *_: hook(parameter)))


class _NodeHook:
    """The node lives as long as somebody holds it."""

    def __init__(self, node: Any, handle: Any) -> None:
        self._node, self._handle = node, handle

    def remove(self) -> None:
        self._handle.remove()
