"""Calls functions of the script once for each completed round, in order, when the model holds the
parameters that the round left. For running averages of the parameters.

A worker pulls parameters only for its tasks. If rounds passed without a task of this worker, their
parameters are gone, and an average would lack them: that is refused.
"""

from __future__ import annotations

from typing import Any, Callable, Optional

from steelyard._errors import refuse


class RoundCalls:
    def __init__(self) -> None:
        self._calls: list[Callable[[], Any]] = []
        self._completed: Optional[int] = None  # rounds, all announced
        self._computed = 0  # rounds up to the last one that this worker computed a part of

    def __bool__(self) -> bool:
        return bool(self._calls)

    def add(self, call: Callable[[], Any]) -> None:
        self._calls.append(call)

    def begin(self, about: dict[str, Any]) -> None:
        """`about`: properties of the job."""
        if self._calls and not about.get('synchronous', True):
            raise refuse(
                'job.on_round() needs rounds that are one step each, after one another: give '
                'sync="bsp" to join()'
            )

    def loaded(self, completed: int, alone: bool) -> None:
        """The model holds the parameters after so many rounds of the job. `alone`: only this worker
        computes rounds, so it missed none, and the first ones belong to the run that is resumed."""
        if not self._calls:
            return
        if self._completed is None:
            self._completed = completed if alone else 0
        if completed > self._completed + 1:
            raise refuse(
                f'job.on_round(): this worker did not get the parameters that rounds {self._completed} to '
                f'{completed - 2} left: it had no samples then, or joined later, or the job was '
                'resumed: give step="here" to join(), with which every worker takes each step, or '
                'policy="equal", with a batch of at least one micro-batch for each worker'
            )
        if completed == self._completed + 1:
            self._completed = completed
            for call in self._calls:
                call()

    def computed(self, completed: int) -> None:
        """This worker has computed its part of the round after which `completed` are completed."""
        self._computed = completed

    def evaluating(self) -> None:
        """The model holds the parameters of an evaluation: those after the last round, as long as this
        worker missed none, which the next call of loaded() checks."""
        if self._completed is not None and self._computed == self._completed + 1:
            self.loaded(self._computed, True)
