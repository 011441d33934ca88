"""Exchanges gradients at the end of every loss.backward(), as DistributedDataParallel does.

Hooks of the parameters collect what one backward computes, apart from what earlier ones have left in
.grad. When backward ends, the exchange is done, and .grad has grown by the mean gradient of all workers.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch

from steelyard._torch_copy import OwnLayout
from steelyard._torch_parameters import view_of


class Exchange:
    """`ended` is called at the end of each backward that reaches a parameter of the layout."""

    def __init__(self, layout: OwnLayout, ended: Callable[[], None]) -> None:
        self._layout, self._ended = layout, ended
        self._running = False
        self._local: list[Optional[torch.Tensor]] = []
        self._before: list[Optional[torch.Tensor]] = []
        self._hooks: dict[int, Any] = {}  # by the number of the parameter
        self.forget()

    def watch(self) -> None:
        """Watches all parameters that require a gradient now."""
        for index, entry in enumerate(self._layout.parameters):
            if entry.tensor.requires_grad and index not in self._hooks:
                self._hooks[index] = entry.tensor.register_hook(self._hook(index))

    def forget(self) -> None:
        count = len(self._layout.parameters)
        self._local, self._before = [None] * count, [None] * count

    def write(self, into: torch.Tensor, weight: float) -> None:
        """Writes what the backward has computed, times `weight`, to the flat buffer, and notes which
        parameters it has reached."""
        with torch.no_grad():
            for index, entry in enumerate(self._layout.parameters):
                place, local = view_of(into, entry), self._local[index]
                if local is None:
                    place.zero_()
                else:
                    place.copy_(local).mul_(weight)
                    self._layout.used[index] = 1.0

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

    def close(self) -> None:
        for hook in self._hooks.values():
            hook.remove()

    def _hook(self, index: int) -> Callable[[torch.Tensor], None]:
        parameter = self._layout.parameters[index].tensor

        def hook(gradient: torch.Tensor) -> None:
            if not self._running:
                self._running = True
                torch.autograd.Variable._execution_engine.queue_callback(self._end)
            if self._local[index] is None:
                self._before[index], parameter.grad = parameter.grad, None
                self._local[index] = gradient.detach()
            else:  # backward has reached the parameter a second time, as with reentrant checkpointing
                self._local[index] = self._local[index] + gradient.detach()

        return hook

    def _end(self) -> None:
        self._running = False
        self._ended()


class LossWatch:
    """Records the number that backward() is called on: hooks do not see it."""

    last: Any = 0.0
    _original: Optional[Callable[..., Any]] = None

    @classmethod
    def install(cls) -> None:
        if cls._original is not None:
            return
        cls._original = original = torch.Tensor.backward

        def backward(self: torch.Tensor, *arguments: Any, **options: Any) -> Any:
            if self.numel() == 1:
                cls.last = self.detach()
            return original(self, *arguments, **options)

        torch.Tensor.backward = backward  # type: ignore[method-assign]
