"""The module that steelyard.torch.parallel() makes."""

from __future__ import annotations

import contextlib
from typing import Any, Iterator, Optional

import torch

from steelyard._errors import refuse
from steelyard._torch_parallel import ParallelJob


class Parallel(torch.nn.Module):
    """A module with shared gradients, made by steelyard.torch.parallel().

    model.module   the module itself
    model.logs     whether this worker should write logs; fixed from the first batch on
    model.main     True in the one process that should save the results"""

    def __init__(self, module: torch.nn.Module) -> None:
        super().__init__()
        self.module = module
        self._kept: dict[str, Any] = {}
        self._job: Optional[ParallelJob] = None

    def forward(self, *inputs: Any, **options: Any) -> Any:
        return self.module(*inputs, **options)

    def keep(self, **objects: Any) -> Parallel:
        """Adds optimizers, schedulers, averages of weights, and anything with state_dict() and
        load_state_dict() to the state of the job: checkpoints and workers that join late get it."""
        self._kept.update(objects)
        if self._job is not None:
            self._job.steps.keep(objects)
        return self

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """For scripts that accumulate gradients. Has no effect: gradients of every batch are exchanged, and
        .grad accumulates their means."""
        if self._job is not None:
            self._job.accumulates()
        yield

    @property
    def main(self) -> bool:
        if self._job is None:
            return False
        return self._job.main if self._job.outcome is not None else self.logs

    @property
    def logs(self) -> bool:
        return self._job is None or int(self._job.about.get('slot', 0)) == 0

    def attach(self, job: ParallelJob) -> None:
        if self._job is not None:
            raise refuse('a model has one loader for training: call parallel(model) again for another job')
        self._job = job
        job.steps.keep(self._kept)
