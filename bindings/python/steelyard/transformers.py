"""The Trainer of transformers on machines of unequal speed.

    from steelyard.transformers import SteelyardTrainer
    arguments = TrainingArguments('out', per_device_train_batch_size=64)
    trainer = SteelyardTrainer(model, arguments, train_dataset=train_set)
    trainer.train()

A batch has per_device_train_batch_size samples over all workers, times gradient_accumulation_steps for each
step of the optimizer: the number of workers does not change the result. Every worker takes every step, and
evaluates on all samples, so all workers have the same metrics. One worker writes logs and checkpoints; it is
the one where trainer.is_world_process_zero() is True.
"""

from __future__ import annotations

import os
import time
from typing import Any, Iterator, Mapping, Optional

import accelerate
import torch
import transformers.trainer
from transformers.trainer_callback import ExportableState
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from steelyard._errors import Failure
from steelyard._torch_trainer import Batches, Progress

TRAINER_STATE_NAME = transformers.trainer.TRAINER_STATE_NAME
_COUNTERS = (
    'global_step',
    'epoch',
    'log_history',
    'best_metric',
    'best_global_step',
    'best_model_checkpoint',
    'total_flos',
    'num_input_tokens_seen',
)
_SECONDS_TO_SAVE = 600  # within which the worker that writes checkpoints has written the best one


class SteelyardTrainer(transformers.Trainer):
    """`steelyard`: options of the job, as for steelyard.torch.loader(): seed, name, job, resume, run_dir,
    verbose, and keys of a job. Other arguments are those of transformers.Trainer.

    If losses are means over tokens, all tokens of a batch count alike, on whichever worker they are."""

    def __init__(
        self, *arguments: Any, steelyard: Optional[Mapping[str, Any]] = None, **options: Any
    ) -> None:
        self._job_options = dict(steelyard or {})
        self._batches: Optional[Batches] = None
        self._items: list[float] = []  # tokens with labels in each batch of the current step
        self._step = 0
        self._begins = False  # whether no batch of this run has been used in this process
        super().__init__(*arguments, **options)

    def create_accelerator_and_postprocess(self) -> None:
        super().create_accelerator_and_postprocess()
        # Its loaders fetch a batch ahead, before the step that comes first.
        self.accelerator.prepare_data_loader = lambda loader, **options: loader

    def get_train_dataloader(self) -> Any:
        self._batches = Batches(super().get_train_dataloader(), self.args.gradient_accumulation_steps)
        return self._batches

    def get_batch_samples(
        self, epoch_iterator: Iterator[Any], num_batches: int, device: torch.device
    ) -> tuple[list[Any], Any]:
        batches, items = super().get_batch_samples(epoch_iterator, num_batches, device)
        job = self._batches.job if self._batches is not None else None
        self._items, self._step = [], 0
        if items is not None and job is not None and batches:
            counts = [self._get_num_items_in_batch([it], device) for it in batches]
            self._items = [float(it or 0) * counts for it, counts in zip(counts, job.counting)]
            job.weigh(self._items)
        return batches, items

    def training_step(self, model: Any, inputs: Any, num_items_in_batch: Any = None) -> torch.Tensor:
        """The loss of each batch is its own mean, also of models that ignore num_items_in_batch; the job
        weighs it by the items."""
        if not self._items:
            return super().training_step(model, inputs, num_items_in_batch)
        items = self._items[self._step % len(self._items)]
        self._step += 1
        loss = super().training_step(model, inputs, torch.tensor(max(1.0, items)))
        return loss * (items / sum(self._items)) if items else torch.zeros_like(loss)

    # ---- the job

    def _init_training_state(
        self, max_steps: int, num_update_steps_per_epoch: int, *arguments: Any
    ) -> tuple[int, int]:
        where = super()._init_training_state(max_steps, num_update_steps_per_epoch, *arguments)
        assert self._batches is not None
        self._batches.start = self.state.global_step
        left = max_steps - self.state.global_step
        if left > 0:
            assert self.model is not None
            job = self._batches.join(self.model, left, **self._job_options)
            its: Any = accelerate.PartialState()
            its.process_index = its.local_process_index = int(job.about['slot'])
        self.state.is_world_process_zero = self.is_world_process_zero()
        self.state.is_local_process_zero = self.is_local_process_zero()
        return where

    def _prepare_for_training(self, *arguments: Any) -> tuple[Any, Any]:
        model, batches = super()._prepare_for_training(*arguments)
        job = batches.job
        if job is not None and not job.over:
            job.steps.keep({'optimizer': self.optimizer, 'scheduler': self.lr_scheduler})
            if self.accelerator.scaler is not None:
                job.steps.keep({'scaler': self.accelerator.scaler})
            job.steps.keep({'progress': Progress(self._progress, self._put_progress)})
            batches.begin()  # a process that joins late has the state of the job then
            self._begins = True
        return model, batches

    def _run_epoch(self, *, epoch: int, **options: Any) -> None:  # type: ignore[override]
        """Leaves out what the job has done before this process has joined, or before the checkpoint."""
        batches = self._batches
        if self._begins and batches is not None:
            first, row = divmod(batches.begin(), batches.rounds)
            if epoch < first:
                return
            self._begins = False
            if row:
                options['resume_from_checkpoint'] = options['resume_from_checkpoint'] or ''
                options['epochs_trained'] = epoch
                options['steps_trained_in_current_epoch'] = row * self.args.gradient_accumulation_steps
        super()._run_epoch(epoch=epoch, **options)
        if batches is not None and batches.over:
            self.control.should_training_stop = True

    def _finalize_training(self, *arguments: Any) -> Any:
        if self._batches is not None:
            self._batches.end()
        return super()._finalize_training(*arguments)

    # ---- the state of the trainer

    def _progress(self) -> dict[str, Any]:
        """What its own checkpoints have, beside model, optimizer and scheduler."""
        counters = {name: getattr(self.state, name) for name in _COUNTERS}
        return {**counters, 'callbacks': {name: it.state()['attributes'] for name, it in self._exported()}}

    def _put_progress(self, state: dict[str, Any]) -> None:
        for name in _COUNTERS:
            setattr(self.state, name, state[name])
        for name, it in self._exported():
            for attribute, value in state['callbacks'].get(name, {}).items():
                setattr(it, attribute, value)

    def _exported(self) -> list[tuple[str, ExportableState]]:
        found = [*self.callback_handler.callbacks, self.control]
        return [(type(it).__name__, it) for it in found if isinstance(it, ExportableState)]

    # ---- checkpoints: one worker writes them

    def _save_checkpoint(self, model: Any, trial: Any) -> None:
        if self.args.should_save:
            super()._save_checkpoint(model, trial)
        elif self.state.best_global_step:
            best = f'{PREFIX_CHECKPOINT_DIR}-{self.state.best_global_step}'
            self.state.best_model_checkpoint = os.path.join(self._get_output_dir(trial), best)

    def _load_best_model(self) -> None:
        best = str(self.state.best_model_checkpoint)
        end = time.monotonic() + _SECONDS_TO_SAVE
        while not os.path.exists(os.path.join(best, TRAINER_STATE_NAME)):  # written last
            if time.monotonic() > end:
                raise Failure(
                    f'the worker that writes checkpoints has not written {best} within {_SECONDS_TO_SAVE} '
                    'seconds: give all workers one output_dir, on a shared disk'
                )
            time.sleep(0.1)
        super()._load_best_model()

    def _load_rng_state(self, checkpoint: Optional[str]) -> None:
        if checkpoint:  # otherwise the job has set it
            super()._load_rng_state(checkpoint)


def _skip_first_batches(loader: Any, count: int = 0) -> Any:
    """Batches begin where a run goes on."""
    return loader if isinstance(loader, Batches) else accelerate.skip_first_batches(loader, count)


setattr(transformers.trainer, 'skip_first_batches', _skip_first_batches)
