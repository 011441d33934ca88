"""Detects changes that a script makes in the loop to what the job has taken over: parameters, their
gradients and `requires_grad`, and the options of the optimizer.

The servers would not see such a change, so the script would train something else than it says. Each
change is refused by name, at the end of the body of the loop that made it.
"""

from __future__ import annotations

from typing import Any, Optional

import torch

from steelyard._errors import refuse
from steelyard._torch_parameters import Layout
from steelyard._torch_staging import dense

_OPTIONS = ('lr', 'weight_decay', 'momentum', 'betas', 'eps', 'nesterov')
_TAKEN_OVER = 'the servers take the optimizer steps, '


class Watch:
    """`optimizer`: the one whose steps servers take; None: the script takes them after each round."""

    def __init__(self, layout: Layout, optimizer: Optional[torch.optim.Optimizer]) -> None:
        self._layout, self._optimizer = layout, optimizer
        self._options = _options_of(optimizer) if optimizer is not None else []
        self._versions: list[int] = []
        self._gradients: Optional[list[Optional[torch.Tensor]]] = None
        self._gradient_versions: list[int] = []

    def loaded(self) -> None:
        """The job has written the parameters."""
        self._versions = [it.tensor._version for it in self._layout.parameters]

    def before_backward(self) -> None:
        """Refuses gradients that job.backward() did not compute: it would drop them."""
        for entry in self._layout.parameters:
            if _is_something(entry.tensor.grad):
                raise refuse(
                    f'{entry.names[0]} had a gradient before job.backward(), which computes all '
                    'gradients of a micro-batch: add what you need to the loss'
                )

    def after_backward(self) -> None:
        """The job has computed gradients, and taken them."""
        self._gradients = [it.tensor.grad for it in self._layout.parameters]
        self._gradient_versions = [0 if it is None else it._version for it in self._gradients]

    def check(self) -> None:
        """Call it after the body of the loop."""
        self._check_parameters()
        self._check_gradients()
        now = _options_of(self._optimizer) if self._optimizer is not None else []
        if now != self._options:
            raise refuse(_difference(self._options, now))

    def _check_parameters(self) -> None:
        for entry, version in zip(self._layout.parameters, self._versions):
            if entry.tensor._version != version and self._optimizer is None:
                raise refuse(
                    f'{entry.names[0]} was changed within a round, as optimizer.step() does: the round is '
                    'not complete: move that behind the loop over the round'
                )
            if entry.tensor._version != version:
                raise refuse(
                    f'{entry.names[0]} was changed in the loop, as opt.step(), clamp_() and copy_() '
                    f'do: {_TAKEN_OVER}and the change would be lost: remove opt.step() and '
                    'schedule.step(); put a constraint on parameters into forward()'
                )
        for name, tensor, trained in self._layout.requirements:
            if tensor.requires_grad != trained:
                how = 'frozen' if trained else 'unfrozen'
                raise refuse(
                    f'{name} was {how} in the loop: the parameters of a job are fixed when it '
                    'begins: end this job with job.stop(), and call join() again, with a new '
                    'optimizer'
                )

    def _check_gradients(self) -> None:
        before, self._gradients = self._gradients, None
        if before is None:
            return
        for entry, gradient, version in zip(
            self._layout.parameters, before, self._gradient_versions
        ):
            now = entry.tensor.grad
            if now is None or (now is gradient and now._version == version):
                continue
            if _is_something(now) and self._optimizer is None:
                raise refuse(
                    f'the gradient of {entry.names[0]} was changed within a round, as '
                    'clip_grad_norm_() does: move that behind the loop over the round, where .grad is the '
                    'mean gradient of all samples'
                )
            if _is_something(now):
                raise refuse(
                    f'the gradient of {entry.names[0]} was changed after job.backward(), as '
                    'clip_grad_norm_() does: this micro-batch is only a part of the round, and '
                    'its gradient is already taken: give clip_norm= to join(), or change the loss'
                )


def _is_something(gradient: Optional[torch.Tensor]) -> bool:
    """False for no gradient, and for the zeros of zero_grad(set_to_none=False)."""
    return gradient is not None and bool(dense(gradient).count_nonzero())


def _options_of(optimizer: torch.optim.Optimizer) -> list[dict[str, Any]]:
    return [
        {key: _plain(group[key]) for key in _OPTIONS if key in group}
        for group in optimizer.param_groups
    ]


def _plain(value: Any) -> Any:
    return (id(value), value._version) if isinstance(value, torch.Tensor) else value


def _difference(before: list[dict[str, Any]], now: list[dict[str, Any]]) -> str:
    if len(now) != len(before):
        return (
            f'the optimizer had {len(before)} groups at join() and has {len(now)} now: {_TAKEN_OVER}'
            'and the parameters of a job are fixed when it begins: end this job with job.stop(), '
            'and call join() again, with a new optimizer'
        )
    number, key = next(
        (number, key)
        for number, group in enumerate(before)
        for key in group
        if now[number].get(key) != group[key]
    )
    return (
        f'{key} of group {number} of the optimizer was changed in the loop: {_TAKEN_OVER}with the '
        'options that it had at join(): give a scheduler as schedule= to join(), and remove '
        'schedule.step()'
    )
