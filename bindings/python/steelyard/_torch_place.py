"""Where in the loop of a script a state of the job was taken. A worker that loads it begins its loop with a
batch, so the others must begin one there, too."""

from __future__ import annotations

from typing import Any, Mapping, Optional, Sequence

import torch


class Place:
    """`parameters`: of the model. `backwards`: exchanges of a batch, each of which makes a version. `watch`:
    whether to notice that the script accumulates gradients.

    place.accumulates  whether the state that was loaded last has accumulated gradients, which it lacks"""

    def __init__(self, parameters: Sequence[torch.Tensor], backwards: int, watch: bool) -> None:
        self._parameters, self._backwards = parameters, backwards
        self._few = sorted(parameters, key=torch.Tensor.numel)[:4] if watch else []
        self._first = 0  # a version at which a batch begins
        self._mark: Optional[list[Any]] = None  # of the parameters, after the last exchange
        self.accumulates = False

    def phase(self, version: int) -> int:
        """Exchanges since a batch began; 0: the next one begins."""
        return (version - self._first) % self._backwards

    def exchanged(self) -> None:
        """Call it after an exchange, before the script takes its step."""
        self._mark = self._marked()

    def state_dict(self) -> dict[str, Any]:
        """Call it where a batch may begin: the step of the last exchange has been taken, if any follows it."""
        return {'first': self._first, 'accumulates': self._mark is not None and self._same(self._mark)}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._first, self.accumulates = state['first'], state['accumulates']
        self._mark = None

    def resumed(self, version: int) -> None:
        """The loaded state is that of a checkpoint: all workers begin their loops with it."""
        self._first, self.accumulates = version, False

    def _marked(self) -> Optional[list[Any]]:
        """Steps change versions of tensors, or, through .data, only values."""
        if not self._few:
            return None
        values = [it.detach().reshape(-1)[:8].clone() for it in self._few]
        return [[it._version for it in self._parameters], values]

    def _same(self, mark: list[Any]) -> bool:
        now = self._marked()
        assert now is not None
        return mark[0] == now[0] and all(torch.equal(one, other) for one, other in zip(mark[1], now[1]))
