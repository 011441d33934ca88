"""Exchanges gradients at the end of every loss.backward(), as DistributedDataParallel does.

Hooks of the parameters collect what one backward computes, apart from what earlier ones have left in
.grad. When backward ends, the exchange is done, and .grad has grown by the mean gradient of all workers.

The engine of autograd calls functions at the end of a backward, too, but also at the end of one that runs
within another, as reentrant checkpointing does. Therefore torch.autograd.backward is wrapped.

On CUDA, gradients are copied to the task's buffer while backward() is running, in buckets (_torch_staging.py).
A gradient that is computed in several parts, as by reentrant checkpointing, is copied again at the end.
"""

from __future__ import annotations

import threading
import weakref
from typing import Any, Callable, Mapping, Optional

import torch

from steelyard._torch_copy import OwnLayout
from steelyard._torch_parameters import view_of
from steelyard._torch_staging import dense, stager_of

Target = tuple[torch.Tensor, float]  # what write() will get: a task's buffer, and the factor on gradients


class Exchange:
    """`ended` is called at the end of each backward that reaches a parameter of the layout, in the thread
    that has called watch(). `target`, called at its begin: where write() will write this gradient, or None if
    that is not known yet or another backward adds to it.

    exchange.loss         the number that the last backward was called on
    exchange.accumulates  whether gradients matter between batches: a backward has found those of earlier
                          ones, or the script has announced it. Then they belong to the state of the job"""

    def __init__(
        self,
        layout: OwnLayout,
        ended: Callable[[], None],
        target: Callable[[], Optional[Target]] = lambda: None,
    ) -> None:
        self._layout, self._ended, self._target_of = layout, ended, target
        self._stager = stager_of(layout, lambda index: None)
        self._target: Optional[Target] = None  # of this backward
        self._overlap = True  # until a gradient is computed in several parts
        self._seen: set[int] = set()  # gradients of this backward
        self._sent: set[int] = set()  # those that are whole, and copied to the target or on their way
        self.loss: Any = 0.0
        self.accumulates = False
        self.factor = 1.0  # on what the next backward computes; 0: it computes nothing that counts
        self.thread = threading.get_ident()
        self._inside = False  # whether a backward is running
        self._reached = False  # whether the last one has computed a gradient of this model
        self._local: list[Optional[torch.Tensor]] = []
        self._before: list[Optional[torch.Tensor]] = []
        self._hooks: dict[int, Any] = {}  # by the number of the parameter
        self._open = False  # from the begin of a backward until its gradient is exchanged
        self.forget()
        _wrap()
        _exchanges.add(self)

    def watch(self) -> None:
        """Watches all parameters that require a gradient now."""
        self.thread = threading.get_ident()
        for index, entry in enumerate(self._layout.parameters):
            if entry.tensor.requires_grad and index not in self._hooks:
                self._hooks[index] = entry.tensor.register_hook(self._hook(index))

    def forget(self) -> None:
        count = len(self._layout.parameters)
        self._local, self._before, self._open = [None] * count, [None] * count, False
        self._sent.clear()

    def begin(self) -> None:
        """A backward begins. It adds to what earlier ones have computed since forget()."""
        self._inside = self._open = True
        self._reached = False
        self._seen.clear()
        self._sent.clear()
        self._target = self._target_of() if self._stager is not None and self._overlap else None
        if self._stager is not None and self._target is not None:
            self._stager.begin_task(self._target[0])

    def end(self, loss: Any, complete: bool) -> None:
        """The backward has ended. `complete`: without an exception."""
        self._inside = False
        if not complete:
            if self._stager is not None:
                self._stager.settle()
            return self.forget()
        if not self._reached:  # of another model
            self._open = any(it is not None for it in self._local)
            return
        self.loss = loss
        for index in range(len(self._local)):
            if self._local[index] is None:
                self._keep_before(index)
        self._ended()

    def _keep_before(self, index: int) -> None:
        parameter = self._layout.parameters[index].tensor
        if parameter.grad is not None:
            self._before[index], parameter.grad = parameter.grad, None
            self.accumulates = True

    def write(self, into: torch.Tensor, factor: float, weight: float) -> None:
        """Writes what backward has computed since forget(), times `factor`, and the model's buffers, times
        `weight`, to the flat buffer, and notes which parameters backward has reached. `into` and `factor` must
        be the target of the last backward if it had one."""
        if self._stager is not None and not self._sent:
            self._stager.begin_task(into)
        with torch.no_grad():
            for index, entry in enumerate(self._layout.parameters):
                local = self._local[index]
                if local is not None:
                    self._layout.used[index] = 1.0
                if local is None or factor == 0:
                    view_of(into, entry).zero_()
                elif index not in self._sent:
                    self._copy(index, dense(local), into, factor)
        self._layout.write_buffers(into, into, weight, self._stager)  # waits for all copies

    def _copy(self, index: int, gradient: torch.Tensor, into: torch.Tensor, factor: float) -> None:
        if self._stager is not None:
            return self._stager.send(index, gradient, tell=False, factor=factor)
        view_of(into, self._layout.parameters[index]).copy_(gradient).mul_(factor)

    def put_back(self) -> None:
        """Adds the gradients from before this backward to .grad."""
        for index, before in enumerate(self._before):
            if before is not None:
                parameter = self._layout.parameters[index].tensor
                if parameter.grad is None:
                    parameter.grad = before
                else:
                    parameter.grad.add_(before)
        self.forget()

    def state_dict(self) -> dict[str, Any]:
        """What earlier batches have left in .grad; this may be called within an exchange."""
        if not self.accumulates:
            return {}
        found = self._before if self._open else [it.tensor.grad for it in self._layout.parameters]
        return {str(index): it for index, it in enumerate(found) if it is not None}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        for index, entry in enumerate(self._layout.parameters):
            its = state.get(str(index))
            gradient = None if its is None else its.to(entry.tensor.device, copy=True)
            if self._open:
                self._before[index] = gradient
            else:
                entry.tensor.grad = gradient

    def close(self) -> None:
        """Call it before the memory of tasks is freed; backward is the plain one afterwards. At least once."""
        _exchanges.discard(self)
        for hook in self._hooks.values():
            hook.remove()
        stager, self._stager = self._stager, None
        if stager is not None:
            stager.release()
            stager.close()

    def _hook(self, index: int) -> Callable[[torch.Tensor], None]:
        def hook(gradient: torch.Tensor) -> None:
            if not self._inside:  # torch.autograd.grad(), which leaves .grad alone
                return
            self._reached = True
            its = gradient.detach()
            if self.factor != 1.0:
                its = its * self.factor if self.factor else torch.zeros_like(its)
            local = self._local[index]
            if local is None:
                self._keep_before(index)
                self._local[index] = its
            else:  # a further part of a share, or reentrant checkpointing
                self._local[index] = local + its
            self._send(index)

        return hook

    def _send(self, index: int) -> None:
        """Starts to copy a gradient that this backward has computed, if it is whole as far as is known."""
        stager, target, local = self._stager, self._target, self._local[index]
        if index in self._seen:
            self._target, self._overlap = None, False
            if stager is not None and index in self._sent:
                stager.settle()
                self._sent.discard(index)
        elif stager is not None and target is not None and local is not None:
            self._copy(index, dense(local), *target)
            self._sent.add(index)
        self._seen.add(index)


_exchanges: weakref.WeakSet[Exchange] = weakref.WeakSet()
_original: Optional[Callable[..., Any]] = None
_running = threading.local()  # .inside: whether this thread runs a backward


def _wrap() -> None:
    global _original
    if _original is not None:
        return
    _original = original = torch.autograd.backward

    def backward(tensors: Any, *arguments: Any, **options: Any) -> None:
        its = [it for it in _exchanges if it.thread == threading.get_ident()]
        if not its or getattr(_running, 'inside', False):
            return original(tensors, *arguments, **options)
        number = isinstance(tensors, torch.Tensor) and tensors.numel() == 1
        complete, _running.inside = False, True
        for exchange in its:
            exchange.begin()
        try:
            original(tensors, *arguments, **options)
            complete = True
        finally:
            _running.inside = False
            for exchange in its:
                exchange.end(tensors.detach() if number else 0.0, complete)

    torch.autograd.backward = backward
