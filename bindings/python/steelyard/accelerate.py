"""Accelerate on machines of unequal speed: the same loop, with another Accelerator.

    accelerator = steelyard.accelerate.Accelerator(epochs=10, gradient_accumulation_steps=2)
    model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)
    for epoch in range(10):
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(cross_entropy(model(x), y))
                accelerator.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                scheduler.step()
                optimizer.zero_grad()
    accelerator.end_training()

The first DataLoader that prepare() gets is the training loader: its batch_size is that of the global batch,
over all workers. Other loaders yield all their samples on every worker, so gather_for_metrics() returns its
argument. accelerator.num_processes is 1. accelerator.is_main_process is True in the worker that writes
logs and checkpoints, from prepare() on. end_training() ends the job; call it after the last epoch.
"""

from __future__ import annotations

from typing import Any, Iterator, Mapping, Optional

import accelerate
import torch
from accelerate.state import GradientState, PartialState
from torch.utils.data import DataLoader

from steelyard._torch_trainer import Batches, Progress


class Accelerator(accelerate.Accelerator):
    """`epochs`: for-loops over the training loader, those before a saved state included. `backwards`: how
    often the loop calls backward() for a batch, each before an optimizer step. `steelyard`: options of the
    job, as for steelyard.torch.loader(). Other arguments are those of accelerate.Accelerator."""

    def __init__(
        self,
        *arguments: Any,
        epochs: int,
        backwards: int = 1,
        steelyard: Optional[Mapping[str, Any]] = None,
        **options: Any,
    ) -> None:
        super().__init__(*arguments, **options)
        self._backwards, self._epochs, self._job_options = backwards, epochs, dict(steelyard or {})
        self._batches: Optional[_Batches] = None

    def prepare(self, *objects: Any, **options: Any) -> Any:
        prepared = super().prepare(*objects, **options)
        if self._batches is not None and self._batches.job is None and self._models:
            self._join(self._batches)
        return prepared

    def prepare_data_loader(self, data_loader: DataLoader[Any], *arguments: Any, **options: Any) -> Any:
        if self._batches is not None:
            return super().prepare_data_loader(data_loader, *arguments, **options)
        self._batches = _Batches(data_loader, self)
        self._dataloaders.append(self._batches)
        return self._batches

    def skip_first_batches(self, dataloader: Any, num_batches: int = 0) -> Any:
        """For the training loader: `num_batches` that an earlier run has used, over all its epochs. Returns
        the loader itself, which leaves them out once."""
        if dataloader is not self._batches:
            return super().skip_first_batches(dataloader, num_batches)
        self._batches.start = num_batches
        return dataloader

    def load_state(self, *arguments: Any, **options: Any) -> None:
        super().load_state(*arguments, **options)
        if self._batches is not None and self._batches.job is not None:
            self._batches.job.steps.keeps_parameters = True

    def end_training(self) -> None:
        """Ends the job, and the trackers."""
        if self._batches is not None:
            self._batches.end()
        super().end_training()

    # ---- the job

    def _join(self, batches: _Batches) -> None:
        model = self._models[0] if len(self._models) == 1 else torch.nn.ModuleList(self._models)
        batches.total = self._epochs * batches.rounds
        job = batches.join(model, batches.total, self._backwards, **self._job_options)
        if self.gradient_accumulation_steps > 1:
            job.accumulates()
        job.steps.keep({'accelerator': Progress(self._progress, self._put_progress)})
        its: Any = PartialState()
        its.process_index = its.local_process_index = int(job.about['slot'])

    def _keep(self, batches: _Batches) -> None:
        """Adds what was prepared to the state of the job; called before the first batch."""
        assert batches.job is not None
        kinds = {
            'optimizer': self._optimizers,
            'scheduler': self._schedulers,
            'object': self._custom_objects,
            'scaler': [] if self.scaler is None else [self.scaler],
        }
        for kind, objects in kinds.items():
            batches.job.steps.keep({f'{kind}{number}': it for number, it in enumerate(objects)})

    def _progress(self) -> dict[str, Any]:
        return {'step': self.step}

    def _put_progress(self, state: dict[str, Any]) -> None:
        self.step = state['step']


class _Batches(Batches):
    """The training loader; Accelerate asks it whether it is at its last batch."""

    def __init__(self, loader: DataLoader[Any], accelerator: Accelerator) -> None:
        super().__init__(loader)
        self._accelerator = accelerator
        self.end_of_dataloader, self.remainder = False, 0

    def __iter__(self) -> Iterator[Any]:
        self._accelerator._keep(self)
        state = GradientState()
        self.end_of_dataloader = False
        state._add_dataloader(self)
        try:
            for batch in super().__iter__():
                self.end_of_dataloader = self.number == len(self)
                yield batch
        finally:
            state._remove_dataloader(self)
