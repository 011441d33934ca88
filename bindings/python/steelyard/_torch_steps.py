"""What workers do that take the optimizer steps themselves: follow the versions of the job with their own
copy of the model, and write and read its state."""

from __future__ import annotations

import sys
from typing import Any, Callable, Mapping, Optional

import torch

from steelyard import _worker
from steelyard._torch_copy import Copies, OwnLayout
from steelyard._torch_state import Kept
from steelyard._worker import Task, WorkerLike


class OwnSteps:
    """`name`: returns the name of this worker, for messages."""

    def __init__(
        self, model: torch.nn.Module, layout: OwnLayout, name: Callable[[], str]
    ) -> None:
        self._model, self._layout, self._name = model, layout, name
        self._copies = Copies(layout)
        self._kept = Kept()
        self.version: Optional[int] = None  # steps of this copy; None: it has no model yet
        self.keeps_parameters = False  # whether this copy begins with its own parameters, from a checkpoint

    def keep(self, objects: Mapping[str, Any]) -> None:
        self._kept.add(objects)

    def begin_round(self, slot: int) -> None:
        """Call it after the optimizer's step, before any piece of the next round."""
        assert self.version is not None
        self._copies.begin_round(self.version, slot)

    def beside(self, task: Task, worker: WorkerLike) -> bool:
        """Does a task that is no part of a round: the first parameters, and the state. False for others."""
        if task.kind == _worker.STEP and task.version == 0:
            if self.keeps_parameters:
                self._layout.keep_buffers()
            else:
                self._layout.load_parameters(torch.frombuffer(task.parameters, dtype=torch.float32))
            self.version = 0
        elif task.kind == _worker.WRITE_STATE:
            self._layout.load(torch.empty(0))  # buffers as of the last step
            self._kept.write(self._model, task.path)
        elif task.kind == _worker.READ_STATE:
            self._kept.read(self._model, task.path)
            self._layout.keep_buffers()
            self._copies.forget()
            self.version = task.version
        else:
            return False
        worker.done(0.0, 0)
        return True

    def take(self, task: Task, worker: WorkerLike) -> None:
        """Takes the mean gradient of a round into .grad. If this copy has drifted too far from the first
        worker's, requests that one's state."""
        flat = torch.frombuffer(task.parameters, dtype=torch.float32)
        self._layout.take_gradients(flat)
        distance = self._copies.distance(flat)
        worker.done(0.0, 0)
        self.version = task.version
        if self._copies.too_far(distance):
            print(
                f'steelyard: the model of {self._name()} differs from that of the first worker by '
                f'{distance:.1e} of its norm, since unlike processors round differently: it is replaced',
                file=sys.stderr,
            )
            worker.lose_state()
